"""Arrays and twins where a step runs on the CPU; gpu_arrays.py has the same names."""

import numpy as np

empty, zeros = np.empty, np.zeros


def resident(array, dtype):
    """A host array as the twins take it."""
    return np.ascontiguousarray(array, dtype)


def owned(array):
    """What `resident` gave, in memory that may be overwritten."""
    return array.copy()


def fetch(array):
    """An array on the host."""
    return array


def runner(twins):
    """The function that runs a twin of a module by its name."""
    return lambda name, *arguments: getattr(twins, name)(*arguments)
