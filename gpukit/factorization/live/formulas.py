"""Scalar maths of a live model, compiled for both devices."""

import math

import numpy as np

from gpukit._jit import njit
from gpukit.factorization.solvers.sgd.schedule import STALENESS

U64 = np.uint64
ASIDE = U64(1 << 63)  # a mark on a rating's key, above all its parts: sorted by it alone, marked ones come last


@njit
def field(key, shift, width):
    """The `width` bits of a 64-bit key from `shift` on, as uint64."""
    return U64(U64(key >> U64(shift)) & U64((U64(1) << U64(width)) - U64(1)))


@njit
def piece_count(count, rate, gain, blind, longest):
    """Pieces of a row of `count` ratings, each as short as schedule.chunk_lengths has it where its steps have the rate
    of rates.row_rates, rate / sqrt(1 + gain count) (0: it stands still), and none longer than `longest`; blind: by how
    much of all ratings workers - 1 go on at once."""
    if count == 0:
        return np.int64(0)
    steps = max(rate / math.sqrt(1.0 + gain * count), 1e-9)
    length = np.int64(min(max(STALENESS / (blind * count * steps), 1.0), np.float64(longest)))
    return (count + length - 1) // length
