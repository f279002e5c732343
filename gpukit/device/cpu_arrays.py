"""Arrays and twins of steps on the CPU; gpu_arrays.py has the same names."""

import os
import tempfile
from contextlib import nullcontext

import numpy as np

from gpukit.device.memory import is_large, temporary_folder
from gpukit.errors import DeviceMemoryError

copy, attached = np.copyto, nullcontext


def empty(shape, dtype):
    """Return an uninitialized array; one that is large for the main memory left is an array_in_file."""
    return array_in_file(shape, dtype) if is_large(size_of(shape, dtype)) else np.empty(shape, dtype)


def zeros(shape, dtype):
    """Return an array of zeros; see `empty`."""
    return array_in_file(shape, dtype) if is_large(size_of(shape, dtype)) else np.zeros(shape, dtype)


def size_of(shape, dtype):
    """Return the bytes of an array."""
    return int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize


def array_in_file(shape, dtype):
    """Return an array of zeros in an unnamed temporary file, whose pages need not stay in memory.

    The file ends with the array, also if the process is killed. Its space is reserved, since a disk that is full at a
    later write would end the process. Raises DeviceMemoryError.
    """
    folder, size = temporary_folder(), size_of(shape, dtype)
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            os.posix_fallocate(file.fileno(), 0, max(1, size))
            return np.memmap(file, np.uint8)[:size].view(np.ndarray).view(dtype).reshape(shape)
    except OSError as error:
        raise DeviceMemoryError(
            f"An array of {size / 2**30:.2f} GiB fits neither in main memory nor in {folder} ({error.strerror}). Use "
            "less data, or set TMPDIR to a folder on a larger disk."
        ) from error


def resident(array, dtype):
    """Return a contiguous array of dtype, as the twins expect it."""
    return np.ascontiguousarray(array, dtype)


def owned(array):
    """Return a copy of an array of `resident`, which may be overwritten."""
    out = empty(array.shape, array.dtype)
    copy(out, array)
    return out


def fetch(array):
    """Return the array on the host."""
    return array


def finish():
    """Wait for queued operations."""


def runner(*twins):
    """Return run(name, *arguments), which calls a twin of the modules by name."""
    return lambda name, *arguments: find_named(twins, name)(*arguments)


def find_named(modules, name):
    """Return the object of a name in the first module that has it."""
    return next(getattr(module, name) for module in modules if hasattr(module, name))
