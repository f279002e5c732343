"""CPU twin of kernels.py."""

import numpy as np

from gpukit._jit import njit, prange
from gpukit.factorization.model.layout import EXTRA, SQUARES

QUAD = 4


@njit(parallel=True)
def key_blocks(starts, others, where, blocks, rows, keys):
    """Twin of kernels.key_blocks."""
    for row in prange(rows):
        for t in range(starts[row], starts[row + 1]):
            keys[where[t]] = np.uint64(np.int64(blocks[others[t]]) * rows + row)


@njit(parallel=True)
def take_changes(table, rows, common, changes):
    """Twin of kernels.make_take_changes."""
    first = table.shape[1] - EXTRA
    for r in prange(changes.shape[0]):
        for k in range(changes.shape[1]):
            changes[r, k] = table[rows[r], column(k, first, changes.shape[1])] - common[r, k]


@njit(parallel=True)
def add_changes(changes, sums, shares, rows, table, common):
    """Twin of kernels.make_add_changes."""
    first = table.shape[1] - EXTRA
    for r in prange(changes.shape[0]):
        for k in range(changes.shape[1]):
            whole = k == changes.shape[1] - QUAD + SQUARES
            total = sums[r, k] if whole else shares[r] * sums[r, k]
            table[rows[r], column(k, first, changes.shape[1])] += total - changes[r, k]
            common[r, k] += total


@njit
def column(k, first, width):
    """Where a parameter row has number k of its changes: the last quad of them is its first extras."""
    return k if k < width - QUAD else first + k - (width - QUAD)
