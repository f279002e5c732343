"""The CUDA kernel of CUSGD++ (Algorithm 2) and CULSH-MF (Algorithm 3): loop structure only; the maths is in formulas.

A group of lanes processes one chunk of a major row's ratings. The *major* row (of P, and its neighbourhood) stays in
registers for the chunk. The *minor* rows (of Q) are read and added to at every rating; that of the next rating is
prefetched.
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
from gpukit.factorization.solvers.sgd.formulas import F32, RUN, ZERO, spread_bits
from gpukit.factorization.solvers.sgd.schedule import QUAD
from gpukit.primitives.rows import add_row, add_stored, as_floats, load_row, load_stored, partial_dot
from gpukit.primitives.warp import group_max, group_pick, group_sum
from gpukit.random import bits, integer_below

U32, I32, I64, U64 = np.uint32, np.int32, np.int64, np.uint64


class Lane(NamedTuple):
    """A thread's lane and the constants of a kernel.

    lanes per group; factors and neighbours per lane; half: Q's factors are float16; vector: additions in quads.
    """

    lane: int
    lanes: int
    factors: int
    near: int
    half: bool
    vector: bool


class Chunk(NamedTuple):
    """Consecutive ratings of a major row: row, first rating, number, and offset of the first step."""

    row: int
    first: int
    length: int
    shift: int


class Rating(NamedTuple):
    """A rating: its place, minor row, value and weight."""

    place: int
    other: int
    value: float
    weight: float


class Row(NamedTuple):
    """Extras of a parameter row: the lane's number of the last eight, and the row's sum of squared errors."""

    extra: float
    squares: float


class Error(NamedTuple):
    """e of Eq. (5), |R|^-1/2 and |N|^-1/2 of the rating, and its weight."""

    value: float
    explicit: float
    implicit: float
    weight: float


class Registers(NamedTuple):
    """A lane's local arrays, one number per factor (w_before, c_before: per neighbour).

    p, q: the rows of a rating; q_next: the next rating's, as stored; change: of q; *_before: the major row's numbers at
    the start of the chunk.
    """

    p: np.ndarray
    q: np.ndarray
    q_next: np.ndarray
    change: np.ndarray
    p_before: np.ndarray
    w_before: np.ndarray
    c_before: np.ndarray


@device
def chunk_at(chunks, number, busy, turn):
    """Return the Chunk of that number; an empty one for an idle group."""
    chunk = U32(number if busy else 0)
    length = I32(chunks[chunk, 2]) if busy else I32(0)
    return Chunk(U32(chunks[chunk, 0]), U64(chunks[chunk, 1]), length, I32(integer_below(turn, chunk, length)))


@device
def _rating(batch, chunk, step):
    """Return the Rating of a step, from the chunk's offset on, cyclically; the first one after the end."""
    turned = I32(step + chunk.shift)
    turned = I32(turned if turned < chunk.length else turned - chunk.length)
    t = U64(chunk.first + U64(turned if step < chunk.length else I32(0)))
    return Rating(t, U32(batch.minor[t]), batch.values[t], formulas.weight_of(batch, t))


@device
def begin(parameters, row, me, registers, around):
    """Load the major row and its neighbourhood; return its Row."""
    load_row(parameters.P, row, U32(0), me.lane, me.lanes, me.factors, registers.p)
    for i in range(me.factors):
        registers.p_before[i] = registers.p[i]
    if me.near:
        load_influence(parameters.influence, row, me.lane, me.lanes, me.near, around)
        load_row(parameters.offsets, row, U32(0), me.lane, me.lanes, me.near, around.offset)
        for k in range(me.near):
            registers.w_before[k], registers.c_before[k] = around.w[k], around.c[k]
    extra = load_extra(parameters.P, row, me.lane)
    return Row(extra, group_pick(extra, SQUARES, me.lanes))


@device
def _fetch(batch, Q, rating, me, registers, around):
    """Prefetch the data of a rating; return its minor row's extra number."""
    if me.near:
        load_words(batch.codes, rating.place, me.lane, me.lanes, me.near, around.words)
    load_stored(Q, rating.other, me.lane, me.lanes, me.factors, me.half, registers.q_next)
    return load_extra(Q, rating.other, me.lane)


@device
def _take(me, registers, around):
    """Make the prefetched rating the current one."""
    as_floats(registers.q_next, me.factors, me.half, registers.q)
    if me.near:
        unpack(around.words, me.near, around.code)


@device
def _error(rating, own, other, levels, me, registers, around):
    """Return the Error of a rating: the residual of Eq. (1), the same in all lanes."""
    explicit, implicit = ZERO, ZERO
    partial = partial_dot(registers.p, registers.q, me.factors)
    if me.lane == U32(BIAS):
        partial += own.extra + other.extra
    if me.near:
        base = group_pick(other.extra, BASE, me.lanes)
        explicit, implicit = set_scales(residuals(around, me.near, levels, base), me.lanes)
        partial += terms(around, me.near, explicit, implicit)
    return Error(F32(rating.value - group_sum(partial, me.lanes)), explicit, implicit, rating.weight)


@device
def learn_influence(around, count, error, rate, decay):
    """Apply Eq. (5) to the lane's w (rated neighbours) and c (the others)."""
    rated_error, unrated_error = F32(error.explicit * error.value), F32(error.implicit * error.value)
    w, c, residual = around.w, around.c, around.residual
    for k in range(count):
        if around.code[k] == U32(0):
            c[k] += formulas.influence_change(c[k], unrated_error, rate, decay)
        else:
            w[k] += formulas.influence_change(w[k], F32(rated_error * residual[k]), rate, decay)


@device
def _learn_factors(registers, count, error, own_rate, other_rate, decay):
    """Apply Eq. (5) to both factor rows, each from the other's old value; q's change goes to registers.change."""
    p, q = registers.p, registers.q
    for i in range(count):
        registers.change[i] = formulas.factor_change(q[i], p[i], error, other_rate, decay)
        p[i] += formulas.factor_change(p[i], q[i], error, own_rate, decay)


@device
def extra_change(row, lane, error, weight, rates):
    """Return a rating's change of the lane's extra number: bias in lane 0, e^2 in lane 1."""
    rate = F32(weight * formulas.row_rate(rates.bias, rates.bias_gain, row.squares))
    change = formulas.bias_change(row.extra, error, rate, rates.bias_decay)
    squares = F32(weight * F32(error * error))
    return change if lane == U32(BIAS) else squares if lane == U32(SQUARES) else ZERO


@device
def _add_extra(matrix, row, lane, change):
    """Add to bias and sum of squares of a parameter row."""
    if lane <= U32(SQUARES):
        cuda.atomic.add(matrix, (row, U32(U32(matrix.shape[1] - EXTRA) + lane)), change)


@device
def learn(Q, row, error, own, other, rates, me, registers, around):
    """Apply Eq. (5) for one rating and return the new major Row.

    The major row is in registers; the minor row `row` of Q is changed by additions.
    """
    weight = error.weight
    own_rate = F32(weight * formulas.row_rate(rates.factor, rates.factor_gain, own.squares))
    other_rate = F32(weight * formulas.row_rate(rates.factor, rates.factor_gain, other.squares))
    if me.near:
        rate = F32(weight * formulas.row_rate(rates.influence, rates.factor_gain, own.squares))
        learn_influence(around, me.near, error, rate, rates.influence_decay)
    _learn_factors(registers, me.factors, error.value, own_rate, other_rate, rates.factor_decay)
    add_stored(Q, row, me.lane, me.lanes, me.factors, me.half, me.vector, registers.change)
    _add_extra(Q, row, me.lane, extra_change(other, me.lane, error.value, weight, rates))
    change = extra_change(own, me.lane, error.value, weight, rates)
    return Row(own.extra + change, own.squares + F32(weight * F32(error.value * error.value)))


@device
def add_difference(matrix, row, first, me, count, now, before):
    """matrix row += now - before; `before` is overwritten."""
    for i in range(count):
        before[i] = now[i] - before[i]
    add_row(matrix, row, first, me.lane, me.lanes, count, me.vector, before)


@device
def end(parameters, row, change, me, registers, around):
    """Add the chunk's changes to the major row and its neighbourhood; change: of the lane's extra number."""
    add_difference(parameters.P, row, U32(0), me, me.factors, registers.p, registers.p_before)
    _add_extra(parameters.P, row, me.lane, change)
    if me.near:
        size = U32(me.lanes * me.near)
        add_difference(parameters.influence, row, U32(0), me, me.near, around.w, registers.w_before)
        add_difference(parameters.influence, row, size, me, me.near, around.c, registers.c_before)


@factory
def make_sgd_epoch(lanes, factors, near, half, vector):
    """Return sgd_epoch for `lanes` threads per rating, each with `factors` factors and `near` neighbours.

    factors and near are multiples of 4; near may be 0. half: the factors in Q are float16, two in each float32, and
    every step is rounded to the nearest. vector: additions in quads (compute capability 9.0).
    """
    slots = max(near, 1)

    @kernel
    def sgd_epoch(chunks, batch, parameters, rates, turn, workers):
        """Apply Eq. (5) to every rating once (Algorithms 2 and 3); worker w processes the chunks w, w + workers, ...

        chunks (n, 3) int64: major row, first rating, number of ratings (0: none); batch: arrays.Batch or WeightedBatch,
        codes (nnz, K / 4) uint32; parameters: arrays.Parameters, K = lanes * near; rates: formulas.Rates; turn uint32:
        key of the epoch, which determines the offset of each chunk; workers: groups of lanes. A major row's minor rows
        must be distinct: they are prefetched one step ahead.

        Launch: any grid of at least lanes * workers threads, blocks of a multiple of 32.
        Deterministic: with one worker, or if no two workers share a row; else up to the order of atomic additions.
        Source: Li et al. 2022, Algorithms 2 and 3, Eq. (1), (5); per-row rates after Duchi et al. 2011.
        """
        me = Lane(lane_of(lanes), lanes, factors, near, half, vector)
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
        worker, count = I32(cuda.grid(1)) // I32(lanes), I32(chunks.shape[0])
        for done in range(I32(0), count, I32(workers)):
            chunk = chunk_at(chunks, done + worker, worker < workers and done + worker < count, turn)
            own = begin(parameters, chunk.row, me, registers, around)
            extra_before = own.extra
            ahead = _rating(batch, chunk, I32(0))
            ahead_extra = _fetch(batch, parameters.Q, ahead, me, registers, around)
            later = _rating(batch, chunk, I32(1))
            for step in range(group_max(chunk.length, 32)):
                _take(me, registers, around)
                rating, extra = ahead, ahead_extra
                ahead, ahead_extra = later, _fetch(batch, parameters.Q, later, me, registers, around)
                later = _rating(batch, chunk, I32(step + 2))
                other = Row(extra, group_pick(extra, SQUARES, lanes))
                error = _error(rating, own, other, batch.levels, me, registers, around)
                if step < chunk.length:
                    own = learn(parameters.Q, rating.other, error, own, other, rates, me, registers, around)
            if chunk.length > 0:
                end(parameters, chunk.row, own.extra - extra_before, me, registers, around)

    return sgd_epoch


@factory
def make_grow_rows(lanes, factors, half, vector):
    """Return grow_rows for `lanes` threads per rating with `factors` factors; half, vector: see make_sgd_epoch."""

    @kernel
    def grow_rows(minor, every, share, Q):
        """Q[row] += share Q[row] for the row of each sampled rating, with the memory accesses of an epoch's step.

        Changes the factors and the first two of the last eight numbers. minor (n,) int32: rows; the sample: the first
        RUN of every RUN * every ratings; share float32; Q (rows, stride) float32: parameter rows.
        Launch: any grid, blocks of a multiple of `lanes`.
        Deterministic: if all rows differ or share is 0; else up to the order of atomic additions.
        Source: ours.
        """
        lane, n, apart = lane_of(lanes), I64(minor.size), I64(RUN) * I64(every)
        stored, row_of = cuda.local.array(factors, np.float32), cuda.local.array(factors, np.float32)
        count = n // apart * I64(RUN) + min(I64(RUN), n % apart)
        for t in range(I64(cuda.grid(1)) // I64(lanes), count, I64(cuda.gridsize(1)) // I64(lanes)):
            row = U32(minor[U64(t // I64(RUN) * apart + t % I64(RUN))])
            load_stored(Q, row, lane, lanes, factors, half, stored)
            extra = F32(share * load_extra(Q, row, lane))
            as_floats(stored, factors, half, row_of)
            for i in range(factors):
                row_of[i] = F32(share * row_of[i])
            add_stored(Q, row, lane, lanes, factors, half, vector, row_of)
            if lane <= U32(SQUARES):
                cuda.atomic.add(Q, (row, U32(U32(Q.shape[1] - EXTRA) + lane)), extra)

    return grow_rows


@kernel
def cut_rows(starts, before, classes, random_bits, random_key, chunks, keys, places):
    """Cut rows into pieces of about equal length: chunk before[r] + p is piece p of row r.

    starts (rows + 1 or more,) int64: first rating of each row; before (rows + 1,) int64: chunks of the rows before
    each; classes (longest + 1,) uint64: class of each length; random_bits int64; random_key uint32; overwritten: chunks
    (n, 3) int64 (row, first rating, ratings), keys (n,) uint64: class, then random_bits random bits, places (n,)
    uint32: 0, 1, ...
    Launch: any grid and block; a block processes whole rows.
    Deterministic: yes, exact.
    Source: ours.
    """
    for row in range(I64(cuda.blockIdx.x), I64(before.size - 1), I64(cuda.gridDim.x)):
        begin, first = I64(starts[U64(row)]), I64(before[U64(row)])
        size, pieces = I64(starts[U64(row + 1)]) - begin, I64(before[U64(row + 1)]) - first
        for piece in range(I64(cuda.threadIdx.x), pieces, I64(cuda.blockDim.x)):
            low, high = piece * size // pieces, (piece + 1) * size // pieces
            c = U64(first + piece)
            chunks[c, 0], chunks[c, 1], chunks[c, 2] = row, begin + low, high - low
            random = U64(bits(random_key, c)) >> U64(32 - random_bits)
            keys[c] = U64(classes[U64(high - low)] << U64(random_bits)) | random
            places[c] = U32(c)


@kernel
def fallen_lengths(chunks, order, n, longest, keys, places):
    """keys[q] = longest - length of the longest chunk of quad q; places[q] = q.

    Quad q has the chunks order[4 q] to order[4 q + 3], and empty ones from the n-th on. chunks (n or more, 3) int64;
    order (n or more,) uint32; n, longest int64; keys (quads,) uint64 and places (quads,) uint32, overwritten.
    Launch: any grid and block.
    Deterministic: yes, exact.
    Source: ours.
    """
    for q in range(I64(cuda.grid(1)), I64(keys.size), I64(cuda.gridsize(1))):
        length = I64(0)
        for part in range(QUAD):
            t = I64(QUAD) * q + I64(part)
            length = max(length, I64(chunks[U64(order[U64(t)]), 2]) if t < n else I64(0))
        keys[U64(q)], places[U64(q)] = U64(longest - length), U32(q)


@kernel
def deal_hands(order, random_key, hands):
    """Deal quads in alternating direction: hands[r, m] is the r-th quad of the four workers m, in random order.

    order (rounds * fours,) uint32: quads, mostly by falling length; random_key uint32; hands (rounds, fours) uint32,
    overwritten: hand m gets place m of even rounds, place fours - 1 - m of odd ones, and is shuffled.
    Launch: any grid and block; one thread for each hand.
    Deterministic: yes, exact.
    Source: Fisher and Yates's shuffle (Knuth, The Art of Computer Programming 2, 3.4.2, algorithm P).
    """
    rounds, fours = I64(hands.shape[0]), I64(hands.shape[1])
    for m in range(I64(cuda.grid(1)), fours, I64(cuda.gridsize(1))):
        for r in range(rounds):
            place = m if r % 2 == 0 else fours - 1 - m
            hands[U64(r), U64(m)] = order[U64(r * fours + place)]
        for last in range(rounds - 1, 0, -1):
            other = integer_below(random_key, U32(m * rounds + last), last + 1)
            own, others = hands[U64(last), U64(m)], hands[U64(other), U64(m)]
            hands[U64(last), U64(m)], hands[U64(other), U64(m)] = others, own


@kernel
def take_quads(chunks, order, n, hands, out):
    """Quad q of out = quad hands[q] of fallen_lengths, with hands in row-major order; empty chunks are zeros.

    chunks, order, n: see fallen_lengths; hands (rounds, fours) uint32; out (4 quads, 3) int64, overwritten.
    Launch: any grid and block.
    Deterministic: yes, exact.
    Source: ours.
    """
    fours = I64(hands.shape[1])
    for t in range(I64(cuda.grid(1)), I64(out.shape[0]), I64(cuda.gridsize(1))):
        quad, part = t // I64(QUAD), t % I64(QUAD)
        entry = I64(hands[U64(quad // fours), U64(quad % fours)]) * I64(QUAD) + part
        for column in range(3):
            out[U64(t), column] = chunks[U64(order[U64(entry)]), column] if entry < n else I64(0)


@kernel
def unpack_ratings(packed, n, width, level_bits, z, minor, values):
    """minor[t] = number >> level_bits, values[t] = z[number mod 2^level_bits] of the number of `width` bytes.

    packed (at least n * width,) uint8: little-endian numbers; n: ratings; width: 1 to 8; level_bits: 0 leaves values
    unchanged; z (256,) float32 of a level; minor (at least n,) int32 and values (at least n, or any,) float32,
    overwritten.
    Launch: any grid and block.
    Deterministic: yes, exact.
    Source: ours.
    """
    mask = U64(U64(U64(1) << U64(level_bits)) - U64(1))
    for t in range(I64(cuda.grid(1)), I64(n), I64(cuda.gridsize(1))):
        number = U64(0)
        for byte in range(I64(width)):
            number |= U64(U64(packed[U64(t * I64(width) + byte)]) << U64(8 * byte))
        minor[U64(t)] = I32(number >> U64(level_bits))
        if level_bits > 0:
            values[U64(t)] = z[U32(number & mask)]


@kernel
def unpack_codes(packed, n, bits, codes):
    """codes[w] = the codes of four neighbours, a byte each; 255 where all `bits` bits are set.

    packed (at least n / 8 * bits,) uint32: bit k of word g * bits + p is bit p of the code of neighbour 32 g + k, the
    neighbours of all ratings numbered in order; n: words to write, a multiple of 8; bits: 1 to 8; codes (at least n,)
    uint32, overwritten.
    Launch: any grid and block.
    Deterministic: yes, exact.
    Source: ours.
    """
    for place in range(I64(cuda.grid(1)), I64(n), I64(cuda.gridsize(1))):
        first, shift = U64((place >> I64(3)) * I64(bits)), U32(U32(4) * U32(place & I64(7)))
        word, common_bits = U32(0), U32(15)
        for plane in range(I32(bits)):
            four = U32(U32(packed[U64(first + U64(plane))] >> shift) & U32(15))
            word |= U32(spread_bits(four) << U32(plane))
            common_bits &= four
        codes[U64(place)] = U32(word | U32(spread_bits(common_bits) * U32(255)))
