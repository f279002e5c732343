"""Scalar formulas of learning from clicks, used by kernel and twin alike.

Li et al. 2022, section 5.4, omit the derivation; this is ours. A click has r_ij = 1 and there are no other data. So
baselines are 0, the residual r - b of a clicked neighbour is 1, and Eq. (1) becomes a score

    x_ij = b_i + b_j + u_i v_j + |R|^-1/2 sum_{k in R} w_jk + |N|^-1/2 sum_{k in N} c_jk,

R: the neighbours of j that i clicked, N: the others. Each click (i, j) has sampled items l that i did not click. There
are two losses:

    cross-entropy   -log s(x_ij) - sum_l log(1 - s(x_il))          s(x) = 1 / (1 + e^-x)
    BPR             -sum_l log s(x_ij - x_il)

Both are minimized by Eq. (5), with the error e replaced by the negative derivative by the score. For the cross-entropy
it is 1 - s(x) for the click and -s(x) for a sampled item. For BPR it is -s(x_il - x_ij) for a sampled item and minus
the sum of these for the click, whose step follows those of its negatives.
"""

import math
from typing import NamedTuple

import numpy as np

from gpukit._jit import njit
from gpukit.factorization.solvers.sgd.formulas import F32, ONE, ZERO
from gpukit.random import long_bits

U32, U64 = np.uint32, np.uint64
TRIES = 16  # items sampled for a negative, at most, for users who clicked nearly everything
NOBODY = -1  # no item
LARGEST = F32(30.0)  # bound of scores; beyond it 1 - s(x) is below a unit of the last place


class Clicks(NamedTuple):
    """Clicks by user: those of row i are items[starts[i]:starts[i + 1]].

    starts (M + 1 or more,) int64; items (n,) int32, distinct and in random order in each row.
    """

    starts: np.ndarray
    items: np.ndarray


class Draw(NamedTuple):
    """Sampling of an epoch: key uint32; negatives per click, int64; pairwise: pairwise loss, bool."""

    key: np.uint32
    negatives: int
    pairwise: bool


@njit
def chance(score):
    """s(x) = 1 / (1 + e^-x)."""
    bounded = F32(min(max(score, -LARGEST), LARGEST))
    return F32(ONE / F32(ONE + F32(math.exp(-bounded))))


@njit
def examples_of(negatives, pairwise):
    """Return the examples of a click: itself and its negatives; pairwise losses visit it twice, first and last."""
    return negatives + 2 if pairwise else negatives + 1


@njit
def error_of(place, score, negatives, pairwise, click, owed):
    """Return the error e of example number `place` of a click.

    click: score of the click; owed: minus the sum of its negatives' errors. 0 for the first visit of a pairwise loss,
    which computes the score only.
    """
    if 0 < place <= negatives:
        return F32(-chance(F32(score - click) if pairwise else score))
    if pairwise:
        return ZERO if place == 0 else owed
    return chance(F32(-score))


@njit
def draw_item(key, number, attempt, n):
    """Return item `attempt` sampled for negative `number` of an epoch, below n: a function of the epoch's key."""
    result = long_bits(U32(U32(key) + U32(attempt)), U64(number))
    return np.int64((U64(result) * U64(n)) >> U64(32))
