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


@njit
def run_of(seat, other, blocks, turns):
    """The run of a rating: (stratum * blocks + block) * turns + turn, of the major row's seat, block * turns + turn,
    and the minor row's block `other`; stratum s has the blocks (b, (b + s) mod blocks). All int64."""
    stratum = (other - seat // turns + blocks) % blocks
    return stratum * blocks * turns + seat


@njit
def line_of(run, blocks, turns):
    """Where a run stands when the chunks of one turn are side by side: (stratum * turns + turn) * blocks + block."""
    stratum, block, turn = run // (blocks * turns), run // turns % blocks, run % turns
    return (stratum * turns + turn) * blocks + block
