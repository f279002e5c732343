"""Scalar maths of the supplement: a random order of the items, and the scores of those that were found."""

import numpy as np

from gpukit._jit import njit
from gpukit.random import bits

U32 = np.uint32


@njit
def shuffled(key, index, half, n):
    """Entry `index` of a random order of 0..n-1 that is a function of key (n <= 4**half).

    A four-round Feistel permutation of 2 * half bits, walked until it falls below n (Black and Rogaway, 2002).
    """
    mask = U32((1 << half) - 1)
    x = U32(index)
    while True:
        left = U32(x >> U32(half))
        right = U32(x & mask)
        for turn in range(4):
            left, right = right, U32(left ^ (bits(U32(key + U32(turn)), right) & mask))
        x = U32(U32(left << U32(half)) | right)
        if x < n:
            return x


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
