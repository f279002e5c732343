"""The major rows of a batch, by teams of warps (team.py)."""

import functools
from typing import NamedTuple

import numpy as np

from gpukit._cuda import cuda, device, kernel
from gpukit.factorization.kernels.influence import (
    Near,
    load_influence,
    load_words,
    residuals,
    set_scales,
    terms,
    unpack,
)
from gpukit.factorization.kernels.rows import load_extra
from gpukit.factorization.model.layout import BASE, BIAS
from gpukit.factorization.solvers.sgd import formulas
from gpukit.factorization.solvers.sgd.batches.kernels.team import (
    Registers,
    begin_row,
    clear,
    learn,
    move,
    of_round,
    rounds_of,
    store,
    stretch_of,
    team_of,
    total,
)
from gpukit.factorization.solvers.sgd.formulas import F32, ONE, ZERO
from gpukit.factorization.solvers.sgd.kernels import Error
from gpukit.primitives.rows import load_row, partial_dot, store_row
from gpukit.primitives.warp import group_pick, group_sum

U32, I32, U64 = np.uint32, np.int32, np.uint64


class Rating(NamedTuple):
    """A group's rating of a round: its number in the stretch, True if it exists, its minor row, its value."""

    number: int
    there: bool
    other: int
    value: float


@device
def _rating(batch, stretch, number, me):
    """Return the group's Rating of a round."""
    t, there = of_round(stretch, number, me)
    place = U64(stretch.first + U64(t))
    return Rating(t, there, U32(batch.minor[place]), batch.values[place])


@device
def _fetch(batch, Q, stretch, rating, me, held, around):
    """Prefetch the data of a Rating for the next round; return its minor row's extra number."""
    if me.near:
        load_words(batch.codes, U64(stretch.first + U64(rating.number)), me.lane, me.lanes, me.near, around.words)
    load_row(Q, rating.other, U32(0), me.lane, me.lanes, me.factors, held.q_next)
    return load_extra(Q, rating.other, me.lane)


@device
def _take(me, held, around):
    """Make the prefetched rating the current one."""
    for i in range(me.factors):
        held.q[i] = held.q_next[i]
    if me.near:
        unpack(around.words, me.near, around.code)


@device
def _sum_major_terms(batch, own, base, me, around):
    """Return the major row's terms of the prediction, its bias and the neighbourhood's, with |R|^-1/2 and |N|^-1/2.

    base: the other row's baseline bias.
    """
    explicit, implicit = ZERO, ZERO
    partial = own.extra if me.lane == U32(BIAS) else ZERO
    if me.near:
        explicit, implicit = set_scales(residuals(around, me.near, batch.levels, base), me.lanes)
        partial += terms(around, me.near, explicit, implicit)
    return group_sum(partial, me.lanes), explicit, implicit


@device
def _note(seen, slot, target, me, held):
    """seen[slot] = the current major row, one number per lane alternately, then the minor row's target."""
    for i in range(me.factors):
        seen[slot, U32(me.lane + U32(i * me.lanes))] = held.p[i]
    if me.lane == U32(0):
        seen[slot, U32(me.lanes * me.factors)] = target


@device
def _learn_influence(own, error, rates, me, held, around):
    """Add Eq. (5) for one rating to the changes of w and c."""
    rate = formulas.row_rate(rates.influence, rates.factor_gain, own.squares)
    rated_error, unrated_error = F32(error.explicit * error.value), F32(error.implicit * error.value)
    w, c, change = me.factors + 1, me.factors + 1 + me.near, held.change
    for k in range(me.near):
        if around.code[k] == U32(0):
            change[c + k] += formulas.influence_change(around.c[k], unrated_error, rate, rates.influence_decay)
        else:
            signal = F32(rated_error * around.residual[k])
            change[w + k] += formulas.influence_change(around.w[k], signal, rate, rates.influence_decay)


@device
def _move_influence(me, held, around):
    """Add held.change to w and c."""
    for k in range(me.near):
        around.w[k] += held.change[me.factors + 1 + k]
        around.c[k] += held.change[me.factors + 1 + me.near + k]


@device
def _study(batch, rating, slot, own, extra, rates, seen, me, held, around):
    """Process one rating of a major row: add its change and store the copy for the minor row.

    extra: the minor row's extra number.
    """
    major_sum, explicit, implicit = _sum_major_terms(batch, own, group_pick(extra, BASE, me.lanes), me, around)
    partial = partial_dot(held.p, held.q, me.factors) + (extra if me.lane == U32(BIAS) else ZERO)
    target = F32(rating.value - major_sum)
    error = F32(target - group_sum(partial, me.lanes))
    if rating.there:
        _note(seen, slot, target, me, held)
        learn(own, error, rates, me, held)
        if me.near:
            _learn_influence(own, Error(error, explicit, implicit, ONE), rates, me, held, around)


@functools.cache
def make_walk_major(lanes, factors, near, warps):
    """Return walk_major for teams of `warps` warps and `lanes` threads per rating.

    Each thread has `factors` factors and `near` neighbours, multiples of 4; near may be 0.
    """
    slots, size = max(near, 1), factors + 1 + 2 * near
    width = lanes * size if warps > 1 else 1

    @kernel
    def walk_major(chunks, batch, parameters, rates, seen):
        """Apply Eq. (5) to the major rows of a batch, with fixed minor rows, and store the rows before each step.

        chunks (n, 5) int64: major row, first rating, ratings, first slot, concurrent steps; no two of one row; batch:
        arrays.Batch, codes (nnz, K / 4) uint32; parameters: arrays.Parameters, K = lanes * near; rates: formulas.Rates;
        seen (slots, lanes * factors + 8) float32, overwritten: for each slot the factors of the major row before its
        step, one number per lane alternately, and z minus the major row's terms.

        Launch: any grid, blocks of 32 * warps threads; of any multiple of 32 if warps is 1.
        Deterministic: yes, for one lanes and warps; budget.
        Source: Li et al. 2022, Algorithms 2 and 3, Eq. (1), (5); per-row rates after Duchi et al. 2011.
        """
        me = team_of(lanes, factors, near, warps)
        held = Registers(
            cuda.local.array(factors, np.float32),
            cuda.local.array(factors, np.float32),
            cuda.local.array(factors, np.float32),
            cuda.local.array(size, np.float32),
        )
        around = Near(
            cuda.local.array(slots, np.float32),
            cuda.local.array(slots, np.float32),
            cuda.local.array(slots, np.float32),
            cuda.local.array(slots, np.uint32),
            cuda.local.array(slots, np.float32),
            cuda.local.array(slots, np.uint32),
        )
        parts = cuda.shared.array((warps, width), F32)
        for c in range(I32(cuda.grid(1)) // I32(32 * warps), chunks.shape[0], I32(cuda.gridsize(1)) // I32(32 * warps)):
            row, slot = U32(chunks[U32(c), 0]), U64(chunks[U32(c), 3])
            stretch = stretch_of(chunks[U32(c), 1], chunks[U32(c), 2], chunks[U32(c), 4], me)
            own = begin_row(parameters.P, row, me, held)
            if near:
                load_influence(parameters.influence, row, me.lane, lanes, near, around)
                load_row(parameters.offsets, row, U32(0), me.lane, lanes, near, around.offset)
            clear(held.change, size)
            ahead = _rating(batch, stretch, I32(0), me)
            ahead_extra = _fetch(batch, parameters.Q, stretch, ahead, me, held, around)
            later = _rating(batch, stretch, I32(1), me)
            for number in range(I32(0), rounds_of(stretch)):
                _take(me, held, around)
                rating, extra = ahead, ahead_extra
                ahead, ahead_extra = later, _fetch(batch, parameters.Q, stretch, later, me, held, around)
                later = _rating(batch, stretch, I32(number + 2), me)
                here = U32(slot + U64(rating.number))
                _study(batch, rating, here, own, extra, rates, seen, me, held, around)
                if I32(number + 1) % stretch.rounds == 0:
                    total(held.change, size, me, parts)
                    own = move(own, me, held)
                    if near:
                        _move_influence(me, held, around)
                    clear(held.change, size)
            if me.group == 0:
                store(parameters.P, row, own, me, held)
                if near:
                    store_row(parameters.influence, row, U32(0), me.lane, lanes, near, around.w)
                    store_row(parameters.influence, row, U32(lanes * near), me.lane, lanes, near, around.c)

    return walk_major
