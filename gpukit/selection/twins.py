"""CPU twin of kernels.py: the same name, the same arguments in the same order."""

import numpy as np

from gpukit._jit import njit
from gpukit.scheduler import by_block


@njit
def insert(key, index, size, best, where):
    """Put (key, index) behind every entry of best[:size] that is not larger; the last one drops out of a full list."""
    slot = min(size, best.size - 1)
    while slot > 0 and best[slot - 1] > key:
        best[slot] = best[slot - 1]
        where[slot] = where[slot - 1]
        slot -= 1
    best[slot] = key
    where[slot] = index


@by_block(lambda keys: keys.shape[0])
def select_smallest(start, stop, keys, limit, indices, values):
    """Twin of kernels.select_smallest.

    One pass a row; a key enters the sorted list only when it beats its last entry.
    """
    k = indices.shape[1]
    for row in range(start, stop):
        size = 0
        for index in range(keys.shape[1]):
            key = min(keys[row, index], limit)
            if size < k or key < values[row, k - 1]:
                insert(key, np.int32(index), size, values[row], indices[row])
                size = min(size + 1, k)
