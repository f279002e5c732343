"""Steps of ordering on the GPU; cpu.py has the same names. Arrays stay on the device."""

import numpy as np

from gpukit._cuda import cuda
from gpukit.device.upload import to_device
from gpukit.primitives.group.gpu import row_starts, sort_by_bits
from gpukit.ratings.orders import kernels

__all__ = ["empty", "fetch", "owned", "release", "resident", "row_starts", "run", "sort_by_bits"]


GRID, BLOCK = 2048, 256


def empty(size, dtype):
    """A device array; of one number where none is wanted, since no bytes cannot be had."""
    return cuda.device_array(max(size, 1), dtype)


def resident(array, dtype):
    """A host array on the device."""
    return to_device(np.ascontiguousarray(array, dtype))


def owned(array):
    """What `resident` gave, in memory that may be overwritten."""
    return array


def fetch(array):
    """A small array on the host."""
    return array.copy_to_host()


def run(name, *arguments):
    """Launch a kernel by its name."""
    getattr(kernels, name)[GRID, BLOCK](*arguments)


def release():
    """Memory that is no longer wanted is given back at once."""
    cuda.current_context().deallocations.clear()
