"""Scalar maths of the preparation, compiled for both devices."""

import numpy as np

from gpukit._jit import njit
from gpukit.random import mix, shuffled

U32 = np.uint32


@njit
def half_width(count):
    """Half the bits of the permutation of `count` numbers that `shuffled` walks."""
    half = 1
    while (1 << (2 * half)) < count:
        half += 1
    return half


@njit
def row_key(key, row):
    """The key of a row's own permutation."""
    return mix(U32(key ^ mix(U32(row))))


@njit
def shuffled_place(key, row, index, half, count):
    """Where a row's rating number `index` of `count` goes: a permutation that is a function of (key, row)."""
    return shuffled(row_key(key, row), index, half, count)


@njit
def in_units(z, deviation, mean, low, high):
    """A prediction in the ratings' own units, within their range."""
    value = np.float32(np.float32(z * deviation) + mean)
    return min(max(value, low), high)
