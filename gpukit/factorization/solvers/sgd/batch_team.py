"""Teams of warps that process a row's ratings of a batch.

Each group of lanes of a team takes one rating, with the row before the round. The team sums the changes in a fixed
order. Every lane has its part of the row in registers. The rows of the next round's ratings are prefetched, since they
are not written meanwhile.
"""

from typing import NamedTuple

import numpy as np

from gpukit._cuda import cuda, device
from gpukit.factorization.kernels.influence import lane_of, load_extra
from gpukit.factorization.model.layout import EXTRA, SQUARES
from gpukit.factorization.solvers.sgd import formulas
from gpukit.factorization.solvers.sgd.formulas import ONE, ZERO
from gpukit.factorization.solvers.sgd.kernels import Row, extra_change
from gpukit.primitives.rows import load_row, store_row
from gpukit.primitives.warp import group_pick, sum_of_groups

U32, I32, U64 = np.uint32, np.int32, np.uint64


class Seat(NamedTuple):
    """A thread's lane and group in its team; lanes per group, factors and neighbours per lane, groups and warps of the
    team."""

    lane: int
    group: int
    lanes: int
    factors: int
    near: int
    groups: int
    warps: int


class Registers(NamedTuple):
    """A lane's local arrays.

    p: the row that learns; q, q_next: the other row of this and of the next round; change: of p, of the lane's extra
    number, of w and of c.
    """

    p: np.ndarray
    q: np.ndarray
    q_next: np.ndarray
    change: np.ndarray


class Stretch(NamedTuple):
    """Ratings of a row: the first, their number, concurrent ones, and the team's rounds for these."""

    first: int
    length: int
    at_once: int
    rounds: int


@device
def team_of(lanes, factors, near, warps):
    """Return the thread's Seat in its team."""
    group = U32(U32(U32(cuda.threadIdx.x) % U32(32 * warps)) // U32(lanes))
    return Seat(lane_of(lanes), I32(group), lanes, factors, near, 32 // lanes * warps, warps)


@device
def clear(values, count):
    for i in range(count):
        values[i] = ZERO


@device
def total(values, count, me, parts):
    """values = their sums over the team, in every lane; parts (warps, lanes * count) float32 in shared memory."""
    for i in range(count):
        values[i] = sum_of_groups(values[i], me.lanes)
    if me.warps > 1:
        if U32(cuda.laneid) < U32(me.lanes):
            for i in range(count):
                parts[U32(cuda.threadIdx.x) // U32(32), U32(me.lane + U32(i * me.lanes))] = values[i]
        cuda.syncthreads()
        for i in range(count):
            values[i] = ZERO
            for warp in range(me.warps):
                values[i] += parts[warp, U32(me.lane + U32(i * me.lanes))]
        cuda.syncthreads()


@device
def begin_row(matrix, row, me, held):
    """Load the row that learns; return its Row."""
    load_row(matrix, row, U32(0), me.lane, me.lanes, me.factors, held.p)
    extra = load_extra(matrix, row, me.lane)
    return Row(extra, group_pick(extra, SQUARES, me.lanes))


@device
def store(matrix, row, own, me, held):
    """Store the row."""
    store_row(matrix, row, U32(0), me.lane, me.lanes, me.factors, held.p)
    if me.lane <= U32(SQUARES):
        matrix[row, U32(U32(matrix.shape[1] - EXTRA) + me.lane)] = own.extra


@device
def stretch_of(first, length, at_once, me):
    """Return the Stretch of `length` ratings."""
    return Stretch(U64(first), I32(length), I32(at_once), I32(I32(at_once + me.groups - 1) // I32(me.groups)))


@device
def rounds_of(stretch):
    """Return the number of rounds of a Stretch."""
    return I32(I32(stretch.length + stretch.at_once - 1) // stretch.at_once) * stretch.rounds


@device
def of_round(stretch, number, me):
    """Return (number of the group's rating of a round, 0 if none; True if it exists)."""
    own = I32(I32(number % stretch.rounds) * I32(me.groups) + me.group)
    t = I32(I32(number // stretch.rounds) * stretch.at_once + own)
    there = own < stretch.at_once and t < stretch.length
    return (t if there else I32(0)), there


@device
def learn(own, error, rates, me, held):
    """Add Eq. (5) for one rating to the changes of the row."""
    rate = formulas.row_rate(rates.factor, rates.factor_gain, own.squares)
    for i in range(me.factors):
        held.change[i] += formulas.factor_change(held.p[i], held.q[i], error, rate, rates.factor_decay)
    held.change[me.factors] += extra_change(own, me.lane, error, ONE, rates)


@device
def move(own, me, held):
    """Add held.change to the row; return its Row."""
    for i in range(me.factors):
        held.p[i] += held.change[i]
    extra = own.extra + held.change[me.factors]
    return Row(extra, group_pick(extra, SQUARES, me.lanes))
