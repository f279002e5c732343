"""Arrays and twins of steps on the CPU; gpu_arrays.py has the same names."""

from contextlib import nullcontext

import numpy as np

from gpukit.device.memory import empty, zeros  # noqa: F401 (as in gpu_arrays.py)

copy, attached = np.copyto, nullcontext


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
