"""The major rows of a batch, then its minor rows, by teams of warps.

Each group of lanes of a team takes one rating, with the row before the round. The team sums the changes in a fixed
order. Every lane has its part of the row in registers. The rows of the next round's ratings are prefetched, since they
are not written meanwhile.
"""

from typing import NamedTuple

import numpy as np

from gpukit._cuda import cuda, device, factory, kernel
from gpukit.factorization.kernels import (
    Near,
    lane_of,
    load_extra,
    load_influence,
    load_words,
    residuals,
    set_scales,
    terms,
    unpack,
)
from gpukit.factorization.model.layout import BASE, BIAS, EXTRA, SQUARES
from gpukit.factorization.solvers.sgd import formulas
from gpukit.factorization.solvers.sgd.formulas import F32, ONE, ZERO
from gpukit.factorization.solvers.sgd.kernels import Error, Row, extra_change
from gpukit.primitives.rows import load_row, load_scalars, partial_dot, store_row
from gpukit.primitives.warp import group_pick, group_sum, sum_of_groups

U32, I32, I64, U64 = np.uint32, np.int32, np.int64, np.uint64


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
def begin_row(matrix, row, me, registers):
    """Load the row that learns; return its Row."""
    load_row(matrix, row, U32(0), me.lane, me.lanes, me.factors, registers.p)
    extra = load_extra(matrix, row, me.lane)
    return Row(extra, group_pick(extra, SQUARES, me.lanes))


@device
def store(matrix, row, own, me, registers):
    """Store the row."""
    store_row(matrix, row, U32(0), me.lane, me.lanes, me.factors, registers.p)
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
def rating_of_round(stretch, number, me):
    """Return (number of the group's rating of a round, 0 if none; True if it exists)."""
    own = I32(I32(number % stretch.rounds) * I32(me.groups) + me.group)
    t = I32(I32(number // stretch.rounds) * stretch.at_once + own)
    is_present = own < stretch.at_once and t < stretch.length
    return (t if is_present else I32(0)), is_present


@device
def learn(own, error, rates, me, registers):
    """Add Eq. (5) for one rating to the changes of the row."""
    rate = formulas.row_rate(rates.factor, rates.factor_gain, own.squares)
    for i in range(me.factors):
        registers.change[i] += formulas.factor_change(registers.p[i], registers.q[i], error, rate, rates.factor_decay)
    registers.change[me.factors] += extra_change(own, me.lane, error, ONE, rates)


@device
def move(own, me, registers):
    """Add registers.change to the row; return its Row."""
    for i in range(me.factors):
        registers.p[i] += registers.change[i]
    extra = own.extra + registers.change[me.factors]
    return Row(extra, group_pick(extra, SQUARES, me.lanes))


@kernel
def key_batch(chunks, minor, ranks, keys, slots):
    """keys[slot] = rank of the minor row, slots[slot] = slot, for the ratings of a batch.

    chunks (n, 5) int64: row, first rating, ratings, first slot, any; minor (all ratings,) int32; ranks (minor rows,)
    int32; keys uint64 and slots uint32 (ratings of the batch,), overwritten.
    Launch: any grid and block; a block processes whole chunks.
    Deterministic: yes, exact.
    Source: ours.
    """
    for c in range(I64(cuda.blockIdx.x), I64(chunks.shape[0]), I64(cuda.gridDim.x)):
        first, length, slot = chunks[U64(c), 1], chunks[U64(c), 2], chunks[U64(c), 3]
        for t in range(I64(cuda.threadIdx.x), length, I64(cuda.blockDim.x)):
            keys[U64(slot + t)] = U64(ranks[U32(minor[U64(first + t)])])
            slots[U64(slot + t)] = U32(slot + t)


class Rating(NamedTuple):
    """A group's rating of a round: its number in the stretch, True if it exists, its minor row, its value."""

    number: int
    there: bool
    other: int
    value: float


@device
def _rating(batch, stretch, number, me):
    """Return the group's Rating of a round."""
    t, is_present = rating_of_round(stretch, number, me)
    place = U64(stretch.first + U64(t))
    return Rating(t, is_present, U32(batch.minor[place]), batch.values[place])


@device
def _fetch(batch, Q, stretch, rating, me, registers, around):
    """Prefetch the data of a Rating for the next round; return its minor row's extra number."""
    if me.near:
        load_words(batch.codes, U64(stretch.first + U64(rating.number)), me.lane, me.lanes, me.near, around.words)
    load_row(Q, rating.other, U32(0), me.lane, me.lanes, me.factors, registers.q_next)
    return load_extra(Q, rating.other, me.lane)


@device
def _take(me, registers, around):
    """Make the prefetched rating the current one."""
    for i in range(me.factors):
        registers.q[i] = registers.q_next[i]
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
def _note(seen, slot, target, me, registers):
    """seen[slot] = the current major row, one number per lane alternately, then the minor row's target."""
    for i in range(me.factors):
        seen[slot, U32(me.lane + U32(i * me.lanes))] = registers.p[i]
    if me.lane == U32(0):
        seen[slot, U32(me.lanes * me.factors)] = target


@device
def _learn_influence(own, error, rates, me, registers, around):
    """Add Eq. (5) for one rating to the changes of w and c."""
    rate = formulas.row_rate(rates.influence, rates.factor_gain, own.squares)
    rated_error, unrated_error = F32(error.explicit * error.value), F32(error.implicit * error.value)
    w, c, change = me.factors + 1, me.factors + 1 + me.near, registers.change
    for k in range(me.near):
        if around.code[k] == U32(0):
            change[c + k] += formulas.influence_change(around.c[k], unrated_error, rate, rates.influence_decay)
        else:
            signal = F32(rated_error * around.residual[k])
            change[w + k] += formulas.influence_change(around.w[k], signal, rate, rates.influence_decay)


@device
def _move_influence(me, registers, around):
    """Add registers.change to w and c."""
    for k in range(me.near):
        around.w[k] += registers.change[me.factors + 1 + k]
        around.c[k] += registers.change[me.factors + 1 + me.near + k]


@device
def _study(batch, rating, slot, own, extra, rates, seen, me, registers, around):
    """Process one rating of a major row: add its change and store the copy for the minor row.

    extra: the minor row's extra number.
    """
    major_sum, explicit, implicit = _sum_major_terms(batch, own, group_pick(extra, BASE, me.lanes), me, around)
    partial = partial_dot(registers.p, registers.q, me.factors) + (extra if me.lane == U32(BIAS) else ZERO)
    target = F32(rating.value - major_sum)
    error = F32(target - group_sum(partial, me.lanes))
    if rating.there:
        _note(seen, slot, target, me, registers)
        learn(own, error, rates, me, registers)
        if me.near:
            _learn_influence(own, Error(error, explicit, implicit, ONE), rates, me, registers, around)


@factory
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
        registers = Registers(
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
            own = begin_row(parameters.P, row, me, registers)
            if near:
                load_influence(parameters.influence, row, me.lane, lanes, near, around)
                load_row(parameters.offsets, row, U32(0), me.lane, lanes, near, around.offset)
            clear(registers.change, size)
            ahead = _rating(batch, stretch, I32(0), me)
            ahead_extra = _fetch(batch, parameters.Q, stretch, ahead, me, registers, around)
            later = _rating(batch, stretch, I32(1), me)
            for number in range(I32(0), rounds_of(stretch)):
                _take(me, registers, around)
                rating, extra = ahead, ahead_extra
                ahead, ahead_extra = later, _fetch(batch, parameters.Q, stretch, later, me, registers, around)
                later = _rating(batch, stretch, I32(number + 2), me)
                here = U32(slot + U64(rating.number))
                _study(batch, rating, here, own, extra, rates, seen, me, registers, around)
                if I32(number + 1) % stretch.rounds == 0:
                    total(registers.change, size, me, parts)
                    own = move(own, me, registers)
                    if near:
                        _move_influence(me, registers, around)
                    clear(registers.change, size)
            if me.group == 0:
                store(parameters.P, row, own, me, registers)
                if near:
                    store_row(parameters.influence, row, U32(0), me.lane, lanes, near, around.w)
                    store_row(parameters.influence, row, U32(lanes * near), me.lane, lanes, near, around.c)

    return walk_major


class Found(NamedTuple):
    """Slot of a group's rating of a round, True if it exists, and the minor row's target."""

    slot: int
    there: bool
    target: float


@device
def _slot(slots, stretch, number, me):
    """Return (slot of the group's rating of a round, True if it exists)."""
    t, is_present = rating_of_round(stretch, number, me)
    return slots[U64(stretch.first + U64(t))], is_present


@device
def _prefetch(seen, slot, is_present, me, registers):
    """Prefetch the stored data of a rating for the next round; return the Found."""
    load_scalars(seen, slot, me.lane, me.lanes, me.factors, registers.q_next)
    return Found(slot, is_present, seen[slot, U32(me.lanes * me.factors)])


@device
def _study_found(entry, own, rates, me, registers):
    """Process one rating of a minor row with the stored copy of the major row."""
    partial = partial_dot(registers.p, registers.q, me.factors) + (own.extra if me.lane == U32(BIAS) else ZERO)
    error = F32(entry.target - group_sum(partial, me.lanes))
    if entry.there:
        learn(own, error, rates, me, registers)


@factory
def make_walk_minor(lanes, factors, warps):
    """Return walk_minor for teams of `warps` warps, `lanes` threads per rating, each with `factors` factors.

    factors is a multiple of 4.
    """
    size = factors + 1
    width = lanes * size if warps > 1 else 1

    @kernel
    def walk_minor(starts, slots, rows, at_once, seen, Q, rates):
        """Apply Eq. (5) to the minor rows of a batch, with the rows that walk_major has stored.

        starts (n + 1,) int64: row rows[k] has the slots slots[starts[k]:starts[k + 1]]; slots (ratings,) uint32: rows
        of seen; rows (n,) int32, all different; at_once (n,) int32: concurrent steps; seen: see walk_major; Q (rows +
        1, any) float32: parameter rows; rates: formulas.Rates.

        Launch: any grid, blocks of 32 * warps threads; of any multiple of 32 if warps is 1.
        Deterministic: yes, for one lanes and warps; budget.
        Source: Li et al. 2022, Algorithms 2 and 3, Eq. (5); per-row rates after Duchi et al. 2011.
        """
        me = team_of(lanes, factors, 0, warps)
        registers = Registers(
            cuda.local.array(factors, np.float32),
            cuda.local.array(factors, np.float32),
            cuda.local.array(factors, np.float32),
            cuda.local.array(size, np.float32),
        )
        parts = cuda.shared.array((warps, width), F32)
        for k in range(I32(cuda.grid(1)) // I32(32 * warps), rows.size, I32(cuda.gridsize(1)) // I32(32 * warps)):
            row, first = U32(rows[U32(k)]), starts[U32(k)]
            stretch = stretch_of(first, starts[U32(k + 1)] - first, at_once[U32(k)], me)
            if stretch.length > 0:
                own = begin_row(Q, row, me, registers)
                clear(registers.change, size)
                slot, is_present = _slot(slots, stretch, I32(0), me)
                ahead = _prefetch(seen, slot, is_present, me, registers)
                slot, is_present = _slot(slots, stretch, I32(1), me)
                for number in range(I32(0), rounds_of(stretch)):
                    for i in range(factors):
                        registers.q[i] = registers.q_next[i]
                    result, ahead = ahead, _prefetch(seen, slot, is_present, me, registers)
                    slot, is_present = _slot(slots, stretch, I32(number + 2), me)
                    _study_found(result, own, rates, me, registers)
                    if I32(number + 1) % stretch.rounds == 0:
                        total(registers.change, size, me, parts)
                        own = move(own, me, registers)
                        clear(registers.change, size)
                if me.group == 0:
                    store(Q, row, own, me, registers)

    return walk_minor
