"""Scalar formulas of online updates, compiled for both devices."""

import math

import numpy as np

from gpukit._jit import njit
from gpukit.factorization.solvers.sgd.schedule import STALENESS

U64 = np.uint64
KNOWN, ASIDE = U64(1 << 62), U64(1 << 63)  # marks of keys, above all fields; sorting by them puts marked keys last


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
