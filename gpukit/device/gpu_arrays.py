"""Arrays and kernels of steps on a GPU; cpu_arrays.py has the same names."""

import numpy as np

from gpukit import _driver
from gpukit._cuda import cuda
from gpukit._driver import device_array, launch
from gpukit.device.cpu_arrays import find_named
from gpukit.device.place import processors
from gpukit.device.upload import download, to_device

BLOCK = 256
BLOCKS_A_PROCESSOR = 16
attached = _driver.attached


def empty(shape, dtype):
    """Return a device array; an empty axis gets length 1, since the driver allocates no empty arrays."""
    return device_array(shape if np.prod(shape) else tuple(max(1, int(side)) for side in np.atleast_1d(shape)), dtype)


def zeros(shape, dtype):
    """Return a device array of zeros."""
    return _driver.zeros(shape, dtype)


def resident(array, dtype):
    """Return a copy of a host array on the device."""
    return to_device(np.ascontiguousarray(array, dtype)) if np.size(array) else empty(np.shape(array), dtype)


def owned(array):
    """Return an array of `resident`, which may be overwritten."""
    return array


def fetch(array):
    """Return a copy of the array on the host; an array of the host itself."""
    return array if isinstance(array, np.ndarray) else download(array)


def copy(out, source):
    """out = source, arrays of the same shape and type."""
    out.copy_to_device(source)


def finish():
    """Wait for queued operations."""
    cuda.synchronize()


def runner(*kernels):
    """Return run(name, *arguments), which launches a kernel of the modules for any grid and block by name."""

    def run(name, *arguments):
        launch(find_named(kernels, name), BLOCKS_A_PROCESSOR * processors(), BLOCK, *arguments)

    return run
