"""Scalar formulas of the preparation, compiled for both devices."""

import numpy as np

from gpukit._jit import njit
from gpukit.random import mix, shuffled

U32 = np.uint32


@njit
def half_width(count):
    """Half the bits of the permutation of `count` numbers that `shuffled` applies."""
    half = 1
    while (1 << (2 * half)) < count:
        half += 1
    return half


@njit
def row_key(key, row):
    """Key of the permutation of a row."""
    return mix(U32(key ^ mix(U32(row))))


@njit
def shuffled_place(key, row, index, half, count):
    """Return the new position of rating `index` of `count` in a row: a permutation keyed by (key, row)."""
    return shuffled(row_key(key, row), index, half, count)


@njit
def in_units(z, deviation, mean, low, high):
    """Convert a prediction to the ratings' units, clipped to their range."""
    value = np.float32(np.float32(z * deviation) + mean)
    return min(max(value, low), high)


@njit
def run_of(seat, other, blocks, turns):
    """Return the run of a rating, (stratum * blocks + block) * turns + turn, as int64.

    seat: block * turns + turn of the major row; other: block of the minor row. Stratum s has the blocks (b, (b + s) mod
    blocks).
    """
    stratum = (other - seat // turns + blocks) % blocks
    return stratum * blocks * turns + seat


@njit
def line_of(run, blocks, turns):
    """Return the line of a run if the chunks of one turn are adjacent: (stratum * turns + turn) * blocks + block."""
    stratum, block, turn = run // (blocks * turns), run // turns % blocks, run % turns
    return (stratum * turns + turn) * blocks + block
