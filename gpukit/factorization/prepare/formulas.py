"""Scalar formulas of the preparation, the first factors and online updates, compiled for both devices."""

import math
from typing import NamedTuple

import numpy as np

from gpukit._jit import njit
from gpukit.factorization.solvers.sgd.schedule import STALENESS
from gpukit.random import long_bits, mix, shuffle_index

U32, U64 = np.uint32, np.uint64
SPREAD = np.float32(0.02)  # deviation of the first factors; small ones overfit least
HALF_WIDTH = np.float32(np.float32(1.7320508) * SPREAD)  # of the uniform distribution with that deviation
KNOWN, ASIDE = U64(1 << 62), U64(1 << 63)  # marks of keys, above all fields; sorting by them puts marked keys last


class FirstRows(NamedTuple):
    """First parameters of a side: base (rows,) float64 baseline biases, in z; biased: biases start there, not at 0.

    n_factors int64; seed_key uint32.
    """

    base: np.ndarray
    biased: bool
    n_factors: int
    seed_key: int


@njit
def half_width(count):
    """Half the bits of the permutation of `count` numbers that `shuffle_index` applies."""
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
    return shuffle_index(row_key(key, row), index, half, count)


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


@njit
def first_factor(key, number):
    """Return number `number` of the first factors.

    It is uniform with deviation SPREAD, a function of (key, number).
    """
    unit = np.float32(np.float32(long_bits(key, number) >> U32(8)) * np.float32(2.0**-23))
    return np.float32(np.float32(unit - np.float32(1.0)) * HALF_WIDTH)


@njit
def field(key, shift, width):
    """Return `width` bits of a 64-bit key from bit `shift` on, as uint64."""
    return U64(U64(key >> U64(shift)) & U64((U64(1) << U64(width)) - U64(1)))


@njit
def chunk_count(count, rate, gain, blind, longest):
    """Return the number of chunks of a row of `count` ratings.

    A chunk is as short as in schedule.chunk_lengths at the row's rate, rate / sqrt(1 + gain count) (0: a fixed row),
    and has at most `longest` ratings. blind: (workers - 1) / number of ratings.
    """
    if count == 0:
        return np.int64(0)
    steps = max(rate / math.sqrt(1.0 + gain * count), 1e-9)
    length = np.int64(min(max(STALENESS / (blind * count * steps), 1.0), np.float64(longest)))
    return (count + length - 1) // length
