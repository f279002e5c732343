"""Arrays and kernels where a step runs on a GPU; cpu_arrays.py has the same names."""

import numpy as np

from gpukit import _driver
from gpukit._driver import device_array, launch
from gpukit.device.place import processors
from gpukit.device.upload import to_device

BLOCK = 256
BLOCKS_A_PROCESSOR = 16


def empty(shape, dtype):
    """A device array; a side of none is one, since no bytes cannot be had, and kernels want as many sides as ever."""
    return device_array(shape if np.prod(shape) else tuple(max(1, int(side)) for side in np.atleast_1d(shape)), dtype)


def zeros(shape, dtype):
    """A device array of zeros."""
    return _driver.zeros(shape, dtype)


def resident(array, dtype):
    """A host array on the device."""
    return to_device(np.ascontiguousarray(array, dtype)) if np.size(array) else empty(np.shape(array), dtype)


def owned(array):
    """What `resident` gave, in memory that may be overwritten."""
    return array


def fetch(array):
    """An array on the host."""
    return array.copy_to_host()


def runner(kernels):
    """The function that launches a kernel of a module by its name, for kernels that take any grid and block."""

    def run(name, *arguments):
        launch(getattr(kernels, name), BLOCKS_A_PROCESSOR * processors(), BLOCK, *arguments)

    return run
