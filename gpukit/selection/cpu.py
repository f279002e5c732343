"""Host step of the selection on the CPU."""

import numpy as np

from gpukit._jit import njit
from gpukit.selection import twins
from gpukit.selection.formulas import LAST, score_of_key


def smallest(keys, k, limit=LAST):
    """(indices (rows, k) int32, values (rows, k) uint32): the k smallest of each row of keys (rows, n) uint32.

    k <= n. Ascending; equal keys by the lower index. Keys of limit and more count as equal to limit.
    """
    indices = np.empty((keys.shape[0], k), np.int32)
    values = np.empty((keys.shape[0], k), np.uint32)
    twins.select_smallest(keys, np.uint32(limit), indices, values)
    return indices, values


def smallest_listed(begins, sizes, entries, k):
    """(indices (rows, k) int32, values (rows, k) uint32): the k smallest entries of each row's list.

    begins (rows + 1,) int64, sizes (rows,) int32, entries (n,) uint64: see kernels.select_listed. Ascending; -1 and
    LAST after the last one.
    """
    indices, values = np.empty((len(sizes), k), np.int32), np.empty((len(sizes), k), np.uint32)
    twins.select_listed(begins, sizes, entries, indices, values)
    return indices, values


@njit
def scores(keys):
    """float32 scores of keys (rows, k) uint32 that `descending_key` made, NaN where the key is the last one."""
    out = np.empty(keys.shape, np.float32)
    for row in range(keys.shape[0]):
        for i in range(keys.shape[1]):
            out[row, i] = score_of_key(keys[row, i])
    return out
