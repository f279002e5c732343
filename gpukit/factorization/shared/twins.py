"""CPU twin of kernels.py."""

import numpy as np

from gpukit._jit import njit, prange
from gpukit.factorization.model.layout import EXTRA

QUAD = 4


@njit(parallel=True)
def key_blocks(starts, others, where, blocks, rows, keys):
    """Twin of kernels.key_blocks."""
    for row in prange(rows):
        for t in range(starts[row], starts[row + 1]):
            keys[where[t]] = np.uint64(np.int64(blocks[others[t]]) * rows + row)


@njit(parallel=True)
def take_changes(table, taken, changes, sums):
    """Twin of kernels.make_take_changes."""
    first = table.shape[1] - EXTRA
    for row in prange(taken.shape[0]):
        for k in range(taken.shape[1]):
            now = table[row, column(k, first, taken.shape[1])]
            changes[row, k] = sums[row, k] = now - taken[row, k]
            taken[row, k] = now


@njit(parallel=True)
def add_changes(changes, sums, table, taken):
    """Twin of kernels.make_add_changes."""
    first = table.shape[1] - EXTRA
    for row in prange(taken.shape[0]):
        for k in range(taken.shape[1]):
            others = sums[row, k] - changes[row, k]
            table[row, column(k, first, taken.shape[1])] += others
            taken[row, k] += others


@njit
def column(k, first, width):
    """Where a parameter row has number k of its changes: the last quad of them is its first extras."""
    return k if k < width - QUAD else first + k - (width - QUAD)
