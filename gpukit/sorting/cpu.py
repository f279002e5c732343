"""Host steps of the sorting on the CPU; gpu.py has the same functions."""

import numpy as np

from gpukit.device.cpu_arrays import empty, fetch
from gpukit.sorting import twins

__all__ = ["argsort", "empty", "fetch", "first_nan", "plan", "resident"]


def resident(keys):
    """keys as the twins take them."""
    return keys


def plan(offsets, dtype, seed=0):
    """Segments [offsets[s], offsets[s + 1]) as (m + 1,) int64; dtype and seed change nothing on the CPU."""
    return np.ascontiguousarray(offsets, np.int64)


def argsort(keys, prepared, order):
    """order (n,) int32 = positions in their segments of the keys (n,), ascending, equal ones by position.

    NaN is not looked for.
    """
    twins.argsort_segments(keys, prepared, order)


def first_nan(keys):
    """The index of the first NaN of keys (n,); n without one."""
    position = np.array([keys.size], np.int64)
    twins.first_nan(keys, position)
    return int(position[0])
