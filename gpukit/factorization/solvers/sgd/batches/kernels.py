"""GPU kernels of an epoch in batches; twins.py has them for the CPU.

A *team* of warps walks a row's ratings of a batch: its groups of lanes take a rating each, all with the row as it stood
before, and the team adds up what they would change, in one order. Every lane keeps its part of the row in registers.
"""

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
from gpukit.factorization.kernels.rows import lane_of, load_extra
from gpukit.factorization.model.layout import BASE, BIAS, EXTRA, SQUARES
from gpukit.factorization.solvers.sgd import formulas
from gpukit.factorization.solvers.sgd.formulas import F32, ONE, ZERO
from gpukit.factorization.solvers.sgd.kernels import Error, Row, extra_change
from gpukit.primitives.rows import load_row, load_scalars, partial_dot, store_row
from gpukit.primitives.warp import group_pick, group_sum, sum_of_groups

U32, I32, U64, I64 = np.uint32, np.int32, np.uint64, np.int64


class Team(NamedTuple):
    """A thread's number in its group, and its group's in the team; lanes of a group, factors and neighbours of a lane,
    groups and warps of the team."""

    lane: int
    group: int
    lanes: int
    factors: int
    near: int
    groups: int
    warps: int


class Registers(NamedTuple):
    """A lane's local arrays: p, the row that learns; q, the one that a rating has beside it; change: what p, then the
    lane's extra number, then w and c change by."""

    p: np.ndarray
    q: np.ndarray
    change: np.ndarray


@kernel
def key_batch(chunks, minor, ranks, keys, slots):
    """For the ratings of a batch: keys[slot] = the rank of the minor row, slots[slot] = slot.

    chunks (n, 5) int64: row, first rating, ratings, first slot, any; minor (all ratings,) int32; ranks (minor rows,)
    int32; keys uint64 and slots uint32 (ratings of the batch,), overwritten.
    Launch: any grid and block; a block walks whole chunks.
    Deterministic: yes, exact.
    Source: ours.
    """
    for c in range(I64(cuda.blockIdx.x), I64(chunks.shape[0]), I64(cuda.gridDim.x)):
        first, length, slot = chunks[U64(c), 1], chunks[U64(c), 2], chunks[U64(c), 3]
        for t in range(I64(cuda.threadIdx.x), length, I64(cuda.blockDim.x)):
            keys[U64(slot + t)] = U64(ranks[U32(minor[U64(first + t)])])
            slots[U64(slot + t)] = U32(slot + t)


@device
def _team(lanes, factors, near, warps):
    """The thread's place in its team."""
    group = U32(U32(U32(cuda.threadIdx.x) % U32(32 * warps)) // U32(lanes))
    return Team(lane_of(lanes), I32(group), lanes, factors, near, 32 // lanes * warps, warps)


@device
def _clear(values, count):
    for i in range(count):
        values[i] = ZERO


@device
def _total(values, count, me, parts):
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
def _row(matrix, row, me, held):
    """Load the row that learns; returns its Row."""
    load_row(matrix, row, U32(0), me.lane, me.lanes, me.factors, held.p)
    extra = load_extra(matrix, row, me.lane)
    return Row(extra, group_pick(extra, SQUARES, me.lanes))


@device
def _store(matrix, row, own, me, held):
    """Store a row that has learned."""
    store_row(matrix, row, U32(0), me.lane, me.lanes, me.factors, held.p)
    if me.lane <= U32(SQUARES):
        matrix[row, U32(U32(matrix.shape[1] - EXTRA) + me.lane)] = own.extra


@device
def _told(batch, place, own, base, me, around):
    """(what the row that learns says of a rating without the other: its bias, the neighbourhood's terms; |R|^-1/2,
    |N|^-1/2); base: the other row's baseline bias."""
    explicit, implicit = ZERO, ZERO
    partial = own.extra if me.lane == U32(BIAS) else ZERO
    if me.near:
        load_words(batch.codes, place, me.lane, me.lanes, me.near, around.words)
        unpack(around.words, me.near, around.code)
        explicit, implicit = set_scales(residuals(around, me.near, batch.levels, base), me.lanes)
        partial += terms(around, me.near, explicit, implicit)
    return group_sum(partial, me.lanes), explicit, implicit


@device
def _note(seen, slot, target, me, held):
    """seen[slot] = the row as the rating found it, then what it leaves for the other row to say; a number a lane in
    turn."""
    for i in range(me.factors):
        seen[slot, U32(me.lane + U32(i * me.lanes))] = held.p[i]
    if me.lane == U32(0):
        seen[slot, U32(me.lanes * me.factors)] = target


@device
def _learn(own, error, rates, me, held):
    """Add Eq. (5) for one rating to what the row will change by."""
    rate = formulas.row_rate(rates.factor, rates.factor_gain, own.squares)
    for i in range(me.factors):
        held.change[i] += formulas.factor_change(held.p[i], held.q[i], error, rate, rates.factor_decay)
    held.change[me.factors] += extra_change(own, me.lane, error, ONE, rates)


@device
def _learn_influence(own, error, rates, me, held, around):
    """Add Eq. (5) for one rating to what w and c will change by."""
    rate = formulas.row_rate(rates.influence, rates.factor_gain, own.squares)
    told, silent = F32(error.explicit * error.value), F32(error.implicit * error.value)
    w, c, change = me.factors + 1, me.factors + 1 + me.near, held.change
    for k in range(me.near):
        if around.code[k] == U32(0):
            change[c + k] += formulas.influence_change(around.c[k], silent, rate, rates.influence_decay)
        else:
            signal = F32(told * around.residual[k])
            change[w + k] += formulas.influence_change(around.w[k], signal, rate, rates.influence_decay)


@device
def _move(own, me, held):
    """Change the row by held.change; returns its Row."""
    for i in range(me.factors):
        held.p[i] += held.change[i]
    extra = own.extra + held.change[me.factors]
    return Row(extra, group_pick(extra, SQUARES, me.lanes))


@device
def _move_influence(me, held, around):
    """Change w and c by held.change."""
    for k in range(me.near):
        around.w[k] += held.change[me.factors + 1 + k]
        around.c[k] += held.change[me.factors + 1 + me.near + k]


@device
def _study(batch, Q, place, slot, there, own, rates, seen, me, held, around):
    """One rating of a major row: what it would change, and what the minor row is to know."""
    other = U32(batch.minor[place])
    load_row(Q, other, U32(0), me.lane, me.lanes, me.factors, held.q)
    extra = load_extra(Q, other, me.lane)
    told, explicit, implicit = _told(batch, place, own, group_pick(extra, BASE, me.lanes), me, around)
    partial = partial_dot(held.p, held.q, me.factors) + (extra if me.lane == U32(BIAS) else ZERO)
    target = F32(batch.values[place] - told)
    error = F32(target - group_sum(partial, me.lanes))
    if there:
        _note(seen, slot, target, me, held)
        _learn(own, error, rates, me, held)
        if me.near:
            _learn_influence(own, Error(error, explicit, implicit, ONE), rates, me, held, around)


@device
def _study_seen(seen, slot, there, own, rates, me, held):
    """One rating of a minor row, beside the major row as the rating found it."""
    load_scalars(seen, slot, me.lane, me.lanes, me.factors, held.q)
    partial = partial_dot(held.p, held.q, me.factors) + (own.extra if me.lane == U32(BIAS) else ZERO)
    error = F32(seen[slot, U32(me.lanes * me.factors)] - group_sum(partial, me.lanes))
    if there:
        _learn(own, error, rates, me, held)


@functools.cache
def make_walk_major(lanes, factors, near, warps):
    """walk_major for teams of so many warps, `lanes` threads a rating, each with `factors` factors and `near`
    neighbours (multiples of 4; near may be 0)."""
    slots, size = max(near, 1), factors + 1 + 2 * near
    width = lanes * size if warps > 1 else 1

    @kernel
    def walk_major(chunks, batch, parameters, rates, seen):
        """The major rows of a batch learn by Eq. (5), the minor ones as they stand; each rating notes what it found.

        chunks (n, 5) int64: major row, first rating, ratings, first slot, ratings that are learned from at once; no two
        of one row; batch: arrays.Batch, codes (nnz, K / 4) uint32; parameters: arrays.Parameters, K = lanes * near;
        rates: formulas.Rates; seen (slots, lanes * factors + 8) float32, overwritten: for each slot the factors of the
        major row before its rating, a number a lane in turn, and z less what that row said.

        Launch: any grid, blocks of 32 * warps threads; of any multiple of 32 where warps is 1.
        Deterministic: yes, for one lanes and warps; budget.
        Source: Li et al. 2022, Algorithms 2 and 3, Eq. (1), (5); per-row rates after Duchi et al. 2011.
        """
        me = _team(lanes, factors, near, warps)
        held = Registers(
            cuda.local.array(factors, np.float32), cuda.local.array(factors, np.float32), cuda.local.array(size, F32)
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
            row, first, length = U32(chunks[U32(c), 0]), chunks[U32(c), 1], I32(chunks[U32(c), 2])
            slot, at_once = chunks[U32(c), 3], I32(chunks[U32(c), 4])
            own = _row(parameters.P, row, me, held)
            if near:
                load_influence(parameters.influence, row, me.lane, lanes, near, around)
                load_row(parameters.offsets, row, U32(0), me.lane, lanes, near, around.offset)
            for done in range(I32(0), length, at_once):
                _clear(held.change, size)
                left = min(at_once, I32(length - done))
                for turn in range(I32(0), left, I32(me.groups)):
                    there = I32(turn + me.group) < left
                    t = U64(done + turn + me.group if there else 0)
                    place, here = U64(U64(first) + t), U32(U64(slot) + t)
                    _study(batch, parameters.Q, place, here, there, own, rates, seen, me, held, around)
                _total(held.change, size, me, parts)
                own = _move(own, me, held)
                if near:
                    _move_influence(me, held, around)
            if me.group == 0:
                _store(parameters.P, row, own, me, held)
                if near:
                    store_row(parameters.influence, row, U32(0), me.lane, lanes, near, around.w)
                    store_row(parameters.influence, row, U32(lanes * near), me.lane, lanes, near, around.c)

    return walk_major


@functools.cache
def make_walk_minor(lanes, factors, warps):
    """walk_minor for teams of so many warps, `lanes` threads a rating, each with `factors` factors (a multiple of
    4)."""
    size = factors + 1
    width = lanes * size if warps > 1 else 1

    @kernel
    def walk_minor(starts, slots, rows, at_once, seen, Q, rates):
        """The minor rows of a batch learn by Eq. (5) of what walk_major noted.

        starts (n + 1,) int64: row rows[k] has the ratings starts[k]:starts[k + 1] of slots (ratings,) uint32, where in
        seen they are; rows (n,) int32, all different; at_once (n,) int32: ratings that are learned from at once; seen
        as of walk_major; Q (rows + 1, any) float32: parameter rows; rates: formulas.Rates.

        Launch: any grid, blocks of 32 * warps threads; of any multiple of 32 where warps is 1.
        Deterministic: yes, for one lanes and warps; budget.
        Source: Li et al. 2022, Algorithms 2 and 3, Eq. (5); per-row rates after Duchi et al. 2011.
        """
        me = _team(lanes, factors, 0, warps)
        held = Registers(
            cuda.local.array(factors, np.float32), cuda.local.array(factors, np.float32), cuda.local.array(size, F32)
        )
        parts = cuda.shared.array((warps, width), F32)
        for k in range(I32(cuda.grid(1)) // I32(32 * warps), rows.size, I32(cuda.gridsize(1)) // I32(32 * warps)):
            first, length = starts[U32(k)], I32(starts[U32(k + 1)] - starts[U32(k)])
            row, most = U32(rows[U32(k)]), I32(at_once[U32(k)])
            if length > 0:
                own = _row(Q, row, me, held)
                for done in range(I32(0), length, most):
                    _clear(held.change, size)
                    left = min(most, I32(length - done))
                    for turn in range(I32(0), left, I32(me.groups)):
                        there = I32(turn + me.group) < left
                        t = U64(done + turn + me.group if there else 0)
                        _study_seen(seen, slots[U64(U64(first) + t)], there, own, rates, me, held)
                    _total(held.change, size, me, parts)
                    own = _move(own, me, held)
                if me.group == 0:
                    _store(Q, row, own, me, held)

    return walk_minor
