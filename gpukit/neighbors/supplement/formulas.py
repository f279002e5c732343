"""Scalar maths of the supplement: a random order of the items, and the scores of those that were found."""

import numpy as np

from gpukit._jit import njit

U32 = np.uint32


@njit
def in_list(item, ids, row, size):
    """Whether item is among the first `size` of ids[row]."""
    for slot in range(size):
        if ids[row, slot] == item:
            return True
    return False


@njit(fastmath=False)  # an exact division: with any liberty the GPU would take the approximate one
def agreement(key, worst):
    """The score of a neighbour: the share of bits (or of fine hashings) that agree, float32 in (0, 1]."""
    return np.float32(np.float32(U32(worst - key)) / np.float32(worst))
