"""Scalar functions of the supplement: a random order of the items, and the scores of the selected ones."""

import numpy as np

from gpukit._jit import njit

U32 = np.uint32


@njit
def in_list(item, ids, row, size):
    """Return True if item is among the first `size` of ids[row]."""
    for slot in range(size):
        if ids[row, slot] == item:
            return True
    return False


@njit(fastmath=False)  # an exact division: with fastmath the GPU would use the approximate one
def agreement(key, worst):
    """Return the score of a neighbour: the fraction of equal bits (or fine hashings), float32 in (0, 1]."""
    return np.float32(np.float32(U32(worst - key)) / np.float32(worst))
