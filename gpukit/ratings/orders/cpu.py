"""Steps of ordering on the CPU; gpu.py has the same names."""

import numpy as np

from gpukit.primitives.group.cpu import row_starts, sort_by_bits
from gpukit.ratings.orders import twins

__all__ = ["empty", "fetch", "owned", "release", "resident", "row_starts", "run", "sort_by_bits"]


empty = np.empty


def resident(array, dtype):
    """A host array as the twins take it."""
    return np.ascontiguousarray(array, dtype)


def owned(array):
    """What `resident` gave, in memory that may be overwritten."""
    return array.copy()


def fetch(array):
    """A small array on the host."""
    return array


def run(name, *arguments):
    """Run a twin by its name."""
    getattr(twins, name)(*arguments)


def release():
    """Memory that is no longer wanted is given back when the last name of it goes."""
