"""Host step of the selection on the CPU."""

import numpy as np

from gpukit.selection import twins

LAST = np.uint32(0xFFFFFFFF)


def smallest(keys, k, limit=LAST):
    """(indices (rows, k) int32, values (rows, k) uint32): the k smallest of each row of keys (rows, n) uint32.

    k <= n. Ascending; equal keys by the lower index. Keys of limit and more count as equal to limit.
    """
    indices = np.empty((keys.shape[0], k), np.int32)
    values = np.empty((keys.shape[0], k), np.uint32)
    twins.select_smallest(keys, np.uint32(limit), indices, values)
    return indices, values
