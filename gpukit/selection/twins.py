"""CPU twin and host step of kernels.py, with the same names and arguments."""

import numpy as np

from gpukit._jit import njit
from gpukit.primitives.keys import LAST, score_of_key
from gpukit.scheduler import by_block

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
            inside = slot < size
            indices[row, slot] = np.int32(best[slot] & MASK) if inside else np.int32(-1)
            values[row, slot] = np.uint32(best[slot] >> HALF) if inside else LAST


def smallest(keys, k, limit=LAST):
    """(indices (rows, k) int32, values (rows, k) uint32): the k smallest of each row of keys (rows, n) uint32.

    k <= n. Ascending; equal keys by the lower index. Keys of limit and more count as equal to limit.
    """
    indices = np.empty((keys.shape[0], k), np.int32)
    values = np.empty((keys.shape[0], k), np.uint32)
    select_smallest(keys, np.uint32(limit), indices, values)
    return indices, values


def smallest_listed(begins, sizes, entries, k):
    """(indices (rows, k) int32, values (rows, k) uint32): the k smallest entries of each row's list.

    begins (rows + 1,) int64, sizes (rows,) int32, entries (n,) uint64: see kernels.select_listed. Ascending; -1 and
    LAST after the last one.
    """
    indices, values = np.empty((len(sizes), k), np.int32), np.empty((len(sizes), k), np.uint32)
    select_listed(begins, sizes, entries, indices, values)
    return indices, values


@njit
def scores(keys):
    """float32 scores of keys (rows, k) uint32 that `descending_key` made, NaN where the key is the last one."""
    out = np.empty(keys.shape, np.float32)
    for row in range(keys.shape[0]):
        for i in range(keys.shape[1]):
            out[row, i] = score_of_key(keys[row, i])
    return out
