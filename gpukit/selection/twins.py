"""CPU twin of kernels.py: the same name, the same arguments in the same order."""

import numpy as np

from gpukit._jit import njit
from gpukit.scheduler import by_block
from gpukit.selection.formulas import LAST

HALF, MASK = np.uint64(32), np.uint64(0xFFFFFFFF)


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


@njit
def insert_entry(entry, size, best):
    """Put an entry in order into best[:size]; the last one drops out of a full list."""
    slot = min(size, best.size - 1)
    while slot > 0 and best[slot - 1] > entry:
        best[slot] = best[slot - 1]
        slot -= 1
    best[slot] = entry


@by_block(lambda indices: indices.shape[0])
def select_listed(start, stop, begins, sizes, entries, indices, values):
    """Twin of kernels.select_listed; one pass over a list, as select_smallest."""
    k = indices.shape[1]
    best = np.empty(k, np.uint64)
    for row in range(start, stop):
        size = 0
        for entry in entries[begins[row] : begins[row] + sizes[row]]:
            if size < k or entry < best[k - 1]:
                insert_entry(entry, size, best)
                size = min(size + 1, k)
        for slot in range(k):
            there = slot < size
            indices[row, slot] = np.int32(best[slot] & MASK) if there else np.int32(-1)
            values[row, slot] = np.uint32(best[slot] >> HALF) if there else LAST
