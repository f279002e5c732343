"""The CUDA kernel of learning from clicks: loop structure only; the maths is in formulas.

A group of lanes processes one chunk of a user's clicks, with the steps of sgd/kernels.py. The user's row stays in
registers; rows of clicked and sampled items are read and added to at every example. The group's line of the workspace
has a bit for each item that the user clicked, so a test of an item or a neighbour reads one word. Data of an example
are prefetched: the neighbours' rows two examples ahead, all else one.
"""

from typing import NamedTuple

import numpy as np

from gpukit._cuda import cuda, device, factory, kernel
from gpukit.factorization.kernels import UNRATED, Near, lane_of, load_extra, set_scales, terms
from gpukit.factorization.model.layout import BIAS, NO_NEIGHBOR, SQUARES
from gpukit.factorization.solvers.sampled_formulas import NOBODY, TRIES, draw_item, error_of, examples_of
from gpukit.factorization.solvers.sgd import formulas
from gpukit.factorization.solvers.sgd.formulas import F32, ONE, ZERO
from gpukit.factorization.solvers.sgd.kernels import (
    Error,
    Lane,
    Registers,
    Row,
    add_difference,
    begin,
    chunk_at,
    end,
    learn,
    learn_influence,
)
from gpukit.primitives.rows import load_row, partial_dot
from gpukit.primitives.warp import group_max, group_pick, group_sum

U32, I32, U64 = np.uint32, np.int32, np.uint64


class Line(NamedTuple):
    """Bits of the items that a user clicked: a line of the workspace."""

    words: np.ndarray
    row: int


class Example(NamedTuple):
    """A user and an item, clicked or sampled.

    item: a valid row; place: number of the example of its click; real: False for no example.
    """

    item: int
    place: int
    real: bool


class Coming(NamedTuple):
    """A lane's part of a prefetched example, one number per neighbour: ids (later: of the next one), words, w and c."""

    later: np.ndarray
    ids: np.ndarray
    words: np.ndarray
    w: np.ndarray
    c: np.ndarray


@device
def _word_of(line, item):
    """Return the word of an item's bit, read past the L1 cache, which has no atomic additions."""
    return U32(cuda.ldcg(line.words, (line.row, U32(U32(item) >> U32(5)))))


@device
def _has(word, item):
    """Return True if an item's bit is set in its word."""
    return U32(U32(word >> U32(U32(item) & U32(31))) & U32(1)) != U32(0)


@device
def _clicks_end(clicks, chunk):
    """Return the end of the clicks of a chunk's user; 0 for a chunk without clicks."""
    return U64(clicks.starts[chunk.row + U32(1)]) if chunk.length > 0 else U64(0)


@device
def _mark(clicks, chunk, line, me):
    """Set the bits of a user's clicks, which are distinct, in a line of zeros."""
    for t in range(U64(clicks.starts[chunk.row]) + U64(me.lane), _clicks_end(clicks, chunk), U64(me.lanes)):
        item = U32(clicks.items[t])
        cuda.atomic.add(line.words, (line.row, U32(item >> U32(5))), U32(U32(1) << U32(item & U32(31))))


@device
def _clear(clicks, chunk, line, me):
    """Clear the bits that `_mark` set."""
    for t in range(U64(clicks.starts[chunk.row]) + U64(me.lane), _clicks_end(clicks, chunk), U64(me.lanes)):
        line.words[line.row, U32(U32(clicks.items[t]) >> U32(5))] = U32(0)


@device
def _negative(line, draw, number, last, n):
    """Return the item of a negative, neither clicked nor `last`; NOBODY if none was sampled."""
    for attempt in range(TRIES):
        item = I32(draw_item(draw.key, number, attempt, n))
        if item != last and not _has(_word_of(line, item), item):
            return item
    return I32(NOBODY)


@device
def _example(clicks, chunk, line, draw, number, last, n):
    """Return Example `number` of a chunk; last: the item of the previous one."""
    each = U32(examples_of(draw.negatives, draw.pairwise))
    step = U32(U32(number) // each)
    place = I32(U32(U32(number) - U32(step * each)))
    turned = I32(I32(step) + chunk.shift)
    turned = I32(turned if turned < chunk.length else turned - chunk.length)
    real = I32(step) < chunk.length
    t = U64(chunk.first + U64(turned if real else I32(0)))
    item = I32(clicks.items[t])
    if I32(0) < place and place <= draw.negatives:
        item = _negative(line, draw, U64(t * U64(draw.negatives) + U64(place - I32(1))), last, n)
    return Example(item, place, real and item != I32(NOBODY))


@device
def _call(near, example, me, coming):
    """Prefetch the neighbours of an example."""
    for k in range(me.near):
        slot = U32(U32(4) * U32(me.lane + U32(k // 4 * me.lanes)) + U32(k % 4))
        coming.later[k] = near[U32(max(example.item, I32(0))), slot]


@device
def _fetch(parameters, line, example, me, registers, coming):
    """Prefetch the other data of an example; return its item's extra number."""
    row = U32(max(example.item, I32(0)))
    load_row(parameters.Q, row, U32(0), me.lane, me.lanes, me.factors, registers.q_next)
    if me.near:
        load_row(parameters.influence, row, U32(0), me.lane, me.lanes, me.near, coming.w)
        load_row(parameters.influence, row, U32(me.lanes * me.near), me.lane, me.lanes, me.near, coming.c)
        for k in range(me.near):
            coming.ids[k] = coming.later[k]
            coming.words[k] = _word_of(line, U32(max(coming.ids[k], I32(0))))
    return load_extra(parameters.Q, row, me.lane)


@device
def _take(me, registers, around, coming):
    """Make the prefetched example the current one."""
    for i in range(me.factors):
        registers.q[i] = registers.q_next[i]
    for k in range(me.near):
        around.w[k], around.c[k] = coming.w[k], coming.c[k]
        registers.w_before[k], registers.c_before[k] = coming.w[k], coming.c[k]
        clicked = U32(1) if _has(coming.words[k], U32(coming.ids[k])) else U32(0)
        around.code[k] = clicked if coming.ids[k] >= I32(0) else U32(NO_NEIGHBOR)


@device
def _counts(around, count):
    """Set around.residual to 1 for clicked neighbours, else 0; return clicked + UNRATED * others."""
    seen = I32(0)
    for k in range(count):
        clicked = around.code[k] == U32(1)
        around.residual[k] = ONE if clicked else ZERO
        seen += I32(1) if clicked else I32(0)
        seen += I32(UNRATED) if around.code[k] == U32(0) else I32(0)
    return seen


@device
def _score(own, other, me, registers, around):
    """Return Eq. (1) for clicks as an Error with the score as value, the same in all lanes."""
    explicit, implicit = ZERO, ZERO
    partial = partial_dot(registers.p, registers.q, me.factors)
    if me.lane == U32(BIAS):
        partial += own.extra + other.extra
    if me.near:
        explicit, implicit = set_scales(_counts(around, me.near), me.lanes)
        partial += terms(around, me.near, explicit, implicit)
    return Error(F32(group_sum(partial, me.lanes)), explicit, implicit, ONE)


@device
def _learn_around(parameters, row, error, squares, rates, me, registers, around):
    """Apply Eq. (5) to w and c of an item by additions; squares: the item's."""
    rate, size = formulas.row_rate(rates.influence, rates.factor_gain, squares), U32(me.lanes * me.near)
    learn_influence(around, me.near, error, rate, rates.influence_decay)
    add_difference(parameters.influence, row, U32(0), me, me.near, around.w, registers.w_before)
    add_difference(parameters.influence, row, size, me, me.near, around.c, registers.c_before)


@factory
def make_sampled_epoch(lanes, factors, near, vector):
    """Return sampled_epoch for `lanes` threads per example, each with `factors` factors and `near` neighbours.

    factors and near are multiples of 4; near may be 0. vector: additions in quads (compute capability 9.0).
    """
    slots = max(near, 1)

    @kernel
    def sampled_epoch(chunks, clicks, neighbors, parameters, rates, turn, draw, workers, workspace):
        """Apply Eq. (5) to every click and its negatives; worker w processes the chunks w, w + workers, ...

        chunks (n, 3) int64: user row, first click, number of clicks (0: none); clicks: arrays.Clicks; neighbors (N + 1,
        K) int32, -1 for none; parameters: arrays.Parameters, with P the users and K = lanes * near; rates: sgd's
        formulas.Rates; turn uint32: key of the epoch, which determines the offset of each chunk; draw: arrays.Draw;
        workers: groups of lanes; workspace (workers, N / 32 + 1) uint32, all zero before and after.

        Launch: any grid of at least lanes * workers threads, blocks of a multiple of 32.
        Deterministic: with one worker; else up to the order of atomic additions. The negatives are exact.
        Source: Li et al. 2022, Eq. (1), (5) and section 5.4; Rendle et al. 2009 (BPR).
        """
        me = Lane(lane_of(lanes), lanes, factors, near, False, vector)
        alone = Lane(lane_of(lanes), lanes, factors, 0, False, vector)  # of the user's row, without neighbours
        registers = Registers(
            cuda.local.array(factors, np.float32),
            cuda.local.array(factors, np.float32),
            cuda.local.array(factors, np.float32),
            cuda.local.array(factors, np.float32),
            cuda.local.array(factors, np.float32),
            cuda.local.array(slots, np.float32),
            cuda.local.array(slots, np.float32),
        )
        around = Near(
            cuda.local.array(slots, np.float32),
            cuda.local.array(slots, np.float32),
            cuda.local.array(slots, np.float32),
            cuda.local.array(slots, np.uint32),
            cuda.local.array(slots, np.float32),
            cuda.local.array(slots, np.uint32),
        )
        coming = Coming(
            cuda.local.array(slots, np.int32),
            cuda.local.array(slots, np.int32),
            cuda.local.array(slots, np.uint32),
            cuda.local.array(slots, np.float32),
            cuda.local.array(slots, np.float32),
        )
        worker, count, items = I32(cuda.grid(1)) // I32(lanes), I32(chunks.shape[0]), U32(parameters.Q.shape[0] - 1)
        line = Line(workspace, U32(worker if worker < workers else 0))
        for done in range(I32(0), count, I32(workers)):
            chunk = chunk_at(chunks, done + worker, worker < workers and done + worker < count, turn)
            _mark(clicks, chunk, line, me)
            cuda.syncwarp()
            own = begin(parameters, chunk.row, alone, registers, around)
            extra_before, click, owed = own.extra, ZERO, ZERO
            ahead = _example(clicks, chunk, line, draw, U32(0), I32(NOBODY), items)
            _call(neighbors, ahead, me, coming)
            ahead_extra = _fetch(parameters, line, ahead, me, registers, coming)
            later = _example(clicks, chunk, line, draw, U32(1), ahead.item, items)
            _call(neighbors, later, me, coming)
            for number in range(group_max(chunk.length, 32) * I32(examples_of(draw.negatives, draw.pairwise))):
                _take(me, registers, around, coming)
                example, extra = ahead, ahead_extra
                ahead, ahead_extra = later, _fetch(parameters, line, later, me, registers, coming)
                later = _example(clicks, chunk, line, draw, U32(number + 2), ahead.item, items)
                _call(neighbors, later, me, coming)
                other = Row(extra, group_pick(extra, SQUARES, lanes))
                score = _score(own, other, me, registers, around)
                value = error_of(example.place, score.value, draw.negatives, draw.pairwise, click, owed)
                first = draw.pairwise and example.place == I32(0)
                click = score.value if first else click
                owed = ZERO if first else owed - value if example.real else owed
                if example.real and not first:
                    row, error = U32(example.item), Error(value, score.explicit, score.implicit, ONE)
                    if near:
                        _learn_around(parameters, row, error, other.squares, rates, me, registers, around)
                    own = learn(parameters.Q, row, error, own, other, rates, alone, registers, around)
            if chunk.length > 0:
                end(parameters, chunk.row, own.extra - extra_before, alone, registers, around)
            _clear(clicks, chunk, line, me)
            cuda.syncwarp()

    return sampled_epoch
