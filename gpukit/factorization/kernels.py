"""CUDA kernels of CUSGD++ (Algorithm 2) and CULSH-MF (Algorithm 3): loop structure only; the maths is in formulas.py.

A *parameter row* is the factors, padding with zeros, and layout.EXTRA more numbers: the bias b, the sum of squared
errors s and the baseline bias of the residuals in Eq. (1); layout.Rows says how it is stored. A group of `lanes`
threads works on one rating: a lane holds quads of factors and of neighbours (primitives/rows.py), and lane l number l
of the last eight.
The *major* side (P) stays in registers for a chunk of its ratings; the *minor* side (Q) is read and added to at every
rating.
"""

import functools

import numpy as np

from gpukit._cuda import cuda, device, kernel
from gpukit.factorization.model.layout import BASE, BIAS, EXTRA, NO_NEIGHBOR, SQUARES
from gpukit.factorization.solvers.sgd import formulas
from gpukit.factorization.solvers.sgd.formulas import F32, ZERO
from gpukit.primitives.rows import add_row, add_stored, as_floats, load_row, load_stored, partial_dot
from gpukit.primitives.warp import group_max, group_pick, group_sum
from gpukit.random import below
from gpukit.selection.formulas import LAST, descending_key

U32, I32, U64 = np.uint32, np.int32, np.uint64
UNRATED = 1 << 16  # in the count of _residuals: rated neighbours below, unrated ones from here on


@device
def _load_words(codes, t, lane, lanes, count, words):
    """The lane's words of rating t: the codes of four neighbours each."""
    for i in range(count // 4):
        words[i] = codes[U64(t), U32(lane + U32(i * lanes))]


@device
def _unpack(words, count, code):
    """Codes of the lane's neighbours, four to a word."""
    for k in range(count):
        code[k] = U32(U32(words[k // 4] >> U32(8 * (k % 4))) & U32(0xFF))


@device
def _turn(step, shift, length):
    """Where in its chunk the step falls: the walk begins at `shift` and goes around; 0 once it is over."""
    turned = I32(step + shift)
    turned = I32(turned if turned < length else turned - length)
    return U64(turned if step < length else I32(0))


@device
def _residuals(code, count, levels, offset, base, residual):
    """residual[k] = r - b of the lane's rated neighbours, else 0; returns rated + UNRATED * unrated ones."""
    seen = I32(0)
    for k in range(count):
        known = code[k] != U32(0) and code[k] != U32(NO_NEIGHBOR)
        residual[k] = F32(F32(levels[code[k]] - offset[k]) - base) if known else ZERO
        seen += I32(1) if known else I32(0)
        seen += I32(UNRATED) if code[k] == U32(0) else I32(0)
    return seen


@device
def _influence(code, residual, w, c, count, explicit, implicit):
    """The lane's part of terms 2 and 3 of Eq. (1)."""
    told, silent = ZERO, ZERO
    for k in range(count):
        told += residual[k] * w[k]
        silent += c[k] if code[k] == U32(0) else ZERO
    return explicit * told + implicit * silent


@device
def _neighborhood(influence, row, lane, lanes, count, code, residual, seen, w, c):
    """`_influence` of an item whose w and c are yet to be loaded; seen: what `_residuals` counted in this lane."""
    load_row(influence, row, U32(0), lane, lanes, count, w)
    load_row(influence, row, U32(lanes * count), lane, lanes, count, c)
    seen = group_sum(seen, lanes)
    explicit, implicit = formulas.set_scale(seen & I32(UNRATED - 1)), formulas.set_scale(seen >> I32(16))
    return _influence(code, residual, w, c, count, explicit, implicit)


@device
def _learn_influence(code, residual, w, c, count, told, silent, rate, decay):
    """Eq. (5) for the lane's w (rated neighbours) and c (the others); told, silent: |S|^-1/2 e."""
    for k in range(count):
        if code[k] == U32(0):
            c[k] += formulas.influence_change(c[k], silent, rate, decay)
        else:
            w[k] += formulas.influence_change(w[k], F32(told * residual[k]), rate, decay)


@device
def _learn_factors(p, q, count, error, own_rate, other_rate, decay, change):
    """Eq. (5) for both factor rows, each from the other's old value; q's change goes to `change`."""
    for i in range(count):
        change[i] = formulas.factor_change(q[i], p[i], error, other_rate, decay)
        p[i] += formulas.factor_change(p[i], q[i], error, own_rate, decay)


@device
def _extra_change(value, lane, squares, error, rates):
    """What one rating adds to the lane's number of the last eight: bias in lane 0, e^2 in lane 1."""
    rate = formulas.row_rate(rates.bias, rates.bias_gain, squares)
    moved = formulas.bias_change(value, error, rate, rates.bias_decay)
    return moved if lane == U32(BIAS) else F32(error * error) if lane == U32(SQUARES) else ZERO


@device
def _load_extra(matrix, row, lane):
    """The lane's number of the last eight of a parameter row, past the L1 cache."""
    return cuda.ldcg(matrix, (row, U32(U32(matrix.shape[1] - EXTRA) + lane))) if lane < U32(EXTRA) else ZERO


@device
def _add_extra(matrix, row, lane, change):
    """Add to bias and sum of squares of a parameter row."""
    if lane <= U32(SQUARES):
        cuda.atomic.add(matrix, (row, U32(U32(matrix.shape[1] - EXTRA) + lane)), change)


@device
def _add_difference(matrix, row, first, lane, lanes, count, vector, now, before):
    """matrix row += now - before; `before` is overwritten."""
    for i in range(count):
        before[i] = now[i] - before[i]
    add_row(matrix, row, first, lane, lanes, count, vector, before)


@functools.cache
def make_sgd_epoch(lanes, factors, near, half, vector):
    """sgd_epoch for `lanes` threads a rating, each with `factors` factors and `near` neighbours (multiples of 4; near
    may be 0).

    half: the factors in Q are float16, two to a number, and so is what they become at every rating, rounded to the
    nearest. vector: additions in quads, an instruction of compute capability 9.0.
    """
    slots = max(near, 1)

    @kernel
    def sgd_epoch(chunks, minor, ratings, codes, levels, P, Q, influence, offsets, rates, turn, workers):
        """Algorithms 2 and 3: one pass over all chunks by Eq. (5); worker w walks the chunks w, w + workers, ...

        chunks (n, 3) int64: major row, first rating, number of ratings (0: nothing to do); minor (nnz,) int32: minor
        row; ratings (nnz,) float32, centred and scaled; codes (nnz, K / 4) uint32: four neighbours a word, 0 unrated,
        255 none, else an index into levels (256,) float32; P (M, any), Q (N, any) float32: parameter rows (Q's with
        half: factors float16, two to a number); influence (M, 2 K) float32: w then c; offsets (M, K) float32: baseline
        biases of the neighbours; rates: formulas.Rates; turn uint32: key of the epoch, where each chunk starts;
        workers: groups of lanes that take part. K is lanes * near. codes, influence and offsets are not read when near
        is 0. A row's minor rows must be distinct: they are read a step ahead, which hides their latency. Launch: any
        grid of at least lanes * workers threads, blocks of a multiple of 32. Deterministic: with one worker, or when
        no two workers share a row; else up to the order of atomic additions. Source: Li et al. 2022, Algorithms 2 and
        3, Eq. (1), (5); per-row rates after Duchi et al. 2011.
        """
        lane = U32(U32(cuda.threadIdx.x) % U32(lanes))
        worker = I32(cuda.grid(1)) // I32(lanes)
        p = cuda.local.array(factors, np.float32)
        p_before = cuda.local.array(factors, np.float32)
        q = cuda.local.array(factors, np.float32)
        q_next = cuda.local.array(factors, np.float32)
        change = cuda.local.array(factors, np.float32)
        w = cuda.local.array(slots, np.float32)
        w_before = cuda.local.array(slots, np.float32)
        c = cuda.local.array(slots, np.float32)
        c_before = cuda.local.array(slots, np.float32)
        offset = cuda.local.array(slots, np.float32)
        residual = cuda.local.array(slots, np.float32)
        code = cuda.local.array(slots, np.uint32)
        words = cuda.local.array(slots, np.uint32)
        explicit, implicit = ZERO, ZERO
        size = U32(lanes * near)
        count = I32(chunks.shape[0])
        for done in range(I32(0), count, I32(workers)):
            busy = worker < workers and done + worker < count
            chunk = U32(done + worker if busy else 0)
            row, start = U32(chunks[chunk, 0]), U64(chunks[chunk, 1])
            length = I32(chunks[chunk, 2]) if busy else I32(0)
            shift = I32(below(turn, chunk, length))
            load_row(P, row, U32(0), lane, lanes, factors, p)
            for i in range(factors):
                p_before[i] = p[i]
            p_extra = _load_extra(P, row, lane)
            extra_before = p_extra
            squares = group_pick(p_extra, SQUARES, lanes)
            if near:
                load_row(influence, row, U32(0), lane, lanes, near, w)
                load_row(influence, row, size, lane, lanes, near, c)
                load_row(offsets, row, U32(0), lane, lanes, near, offset)
                for k in range(near):
                    w_before[k], c_before[k] = w[k], c[k]
            t = U64(start + _turn(I32(0), shift, length))
            next_other, next_rating = U32(minor[t]), ratings[t]
            load_stored(Q, next_other, lane, lanes, factors, half, q_next)
            next_extra = _load_extra(Q, next_other, lane)
            if near:
                _load_words(codes, t, lane, lanes, near, words)
            t = U64(start + _turn(I32(1), shift, length))
            later_other, later_rating = U32(minor[t]), ratings[t]
            for step in range(group_max(length, 32)):
                live = step < length
                other, rating, q_extra = next_other, next_rating, next_extra
                as_floats(q_next, factors, half, q)
                if near:
                    _unpack(words, near, code)
                    _load_words(codes, t, lane, lanes, near, words)
                next_other, next_rating = later_other, later_rating
                load_stored(Q, next_other, lane, lanes, factors, half, q_next)
                next_extra = _load_extra(Q, next_other, lane)
                t = U64(start + _turn(I32(step + 2), shift, length))
                later_other, later_rating = U32(minor[t]), ratings[t]
                q_squares = group_pick(q_extra, SQUARES, lanes)
                partial = partial_dot(p, q, factors)
                if lane == U32(BIAS):
                    partial += p_extra + q_extra
                if near:
                    base = group_pick(q_extra, BASE, lanes)
                    seen = group_sum(_residuals(code, near, levels, offset, base, residual), lanes)
                    explicit = formulas.set_scale(seen & I32(UNRATED - 1))
                    implicit = formulas.set_scale(seen >> I32(16))
                    partial += _influence(code, residual, w, c, near, explicit, implicit)
                error = rating - group_sum(partial, lanes)
                if live:
                    own_rate = formulas.row_rate(rates.factor, rates.factor_gain, squares)
                    other_rate = formulas.row_rate(rates.factor, rates.factor_gain, q_squares)
                    if near:
                        rate = formulas.row_rate(rates.influence, rates.factor_gain, squares)
                        _learn_influence(
                            code,
                            residual,
                            w,
                            c,
                            near,
                            F32(explicit * error),
                            F32(implicit * error),
                            rate,
                            rates.influence_decay,
                        )
                    _learn_factors(p, q, factors, error, own_rate, other_rate, rates.factor_decay, change)
                    add_stored(Q, other, lane, lanes, factors, half, vector, change)
                    _add_extra(Q, other, lane, _extra_change(q_extra, lane, q_squares, error, rates))
                    p_extra += _extra_change(p_extra, lane, squares, error, rates)
                    squares += error * error
            if length > 0:
                _add_difference(P, row, U32(0), lane, lanes, factors, vector, p, p_before)
                _add_extra(P, row, lane, p_extra - extra_before)
                if near:
                    _add_difference(influence, row, U32(0), lane, lanes, near, vector, w, w_before)
                    _add_difference(influence, row, size, lane, lanes, near, vector, c, c_before)

    return sgd_epoch


@functools.cache
def make_predict_pairs(lanes, factors, near, half):
    """predict_pairs for `lanes` threads a pair, each with `factors` factors and `near` neighbours (a multiple of 4, or
    0); half: as in make_sgd_epoch."""
    slots = max(near, 1)

    @kernel
    def predict_pairs(major, minor, codes, levels, P, Q, influence, offsets, predicted):
        """Eq. (1) for pairs of rows, in the units of training.

        major, minor (n,) int32; codes (n, K / 4) uint32, levels (256,) float32, P, Q (rows, any), influence,
        offsets float32 as in sgd_epoch; predicted (n,) float32, overwritten.
        Launch: any grid, blocks of a multiple of 32 threads.   Deterministic: yes; budget.
        Source: Li et al. 2022, Eq. (1).
        """
        lane = U32(U32(cuda.threadIdx.x) % U32(lanes))
        group, groups = I32(cuda.grid(1)) // I32(lanes), I32(cuda.gridsize(1)) // I32(lanes)
        p = cuda.local.array(factors, np.float32)
        q = cuda.local.array(factors, np.float32)
        q_stored = cuda.local.array(factors, np.float32)
        w = cuda.local.array(slots, np.float32)
        c = cuda.local.array(slots, np.float32)
        offset = cuda.local.array(slots, np.float32)
        residual = cuda.local.array(slots, np.float32)
        code = cuda.local.array(slots, np.uint32)
        words = cuda.local.array(slots, np.uint32)
        for done in range(I32(0), I32(major.size), groups):
            pair = done + group
            t = U32(min(pair, I32(major.size) - I32(1)))
            row, other = U32(major[t]), U32(minor[t])
            load_row(P, row, U32(0), lane, lanes, factors, p)
            load_stored(Q, other, lane, lanes, factors, half, q_stored)
            as_floats(q_stored, factors, half, q)
            q_extra = _load_extra(Q, other, lane)
            partial = partial_dot(p, q, factors)
            if lane == U32(BIAS):
                partial += _load_extra(P, row, lane) + q_extra
            if near:
                load_row(offsets, row, U32(0), lane, lanes, near, offset)
                _load_words(codes, t, lane, lanes, near, words)
                _unpack(words, near, code)
                seen = _residuals(code, near, levels, offset, group_pick(q_extra, BASE, lanes), residual)
                partial += _neighborhood(influence, row, lane, lanes, near, code, residual, seen, w, c)
            total = group_sum(partial, lanes)
            if lane == U32(0) and pair < major.size:
                predicted[t] = total

    return predict_pairs


@functools.cache
def make_score_rows(lanes, factors, near):
    """score_rows for `lanes` threads an item, each with `factors` factors and `near` neighbours (a multiple of 4, or
    0)."""
    slots = max(near, 1)

    @kernel
    def score_rows(users, tables, neighbors, levels, P, Q, influence, offsets, hide, keys):
        """Eq. (1) of some users for all items, as keys that sort the best first (selection.formulas.descending_key).

        users (B,) int32: rows of Q; tables (B, N + 1) uint8: code of the user's rating of each item, 0 none; neighbors
        (N + 1, K) int32, -1 for none; levels, P, Q, influence, offsets as in sgd_epoch, P being the items; hide: leave
        rated items out (key 2**32 - 1); keys (B, N) uint32, overwritten.
        Launch: grid (any, B), blocks of a multiple of 32 threads.   Deterministic: yes; budget.
        Source: Li et al. 2022, Eq. (1).
        """
        lane = U32(U32(cuda.threadIdx.x) % U32(lanes))
        line = U32(cuda.blockIdx.y)
        group, groups = I32(cuda.grid(2)[0]) // I32(lanes), I32(cuda.gridsize(2)[0]) // I32(lanes)
        p = cuda.local.array(factors, np.float32)
        q = cuda.local.array(factors, np.float32)
        w = cuda.local.array(slots, np.float32)
        c = cuda.local.array(slots, np.float32)
        offset = cuda.local.array(slots, np.float32)
        residual = cuda.local.array(slots, np.float32)
        code = cuda.local.array(slots, np.uint32)
        user = U32(users[line])
        load_row(Q, user, U32(0), lane, lanes, factors, q)
        q_extra = _load_extra(Q, user, lane)
        base = group_pick(q_extra, BASE, lanes)
        for done in range(I32(0), I32(keys.shape[1]), groups):
            item = U32(min(done + group, I32(keys.shape[1]) - I32(1)))
            load_row(P, item, U32(0), lane, lanes, factors, p)
            partial = partial_dot(p, q, factors)
            if lane == U32(BIAS):
                partial += _load_extra(P, item, lane) + q_extra
            if near:
                load_row(offsets, item, U32(0), lane, lanes, near, offset)
                for k in range(near):
                    neighbor = neighbors[item, U32(U32(4) * U32(lane + U32(k // 4 * lanes)) + U32(k % 4))]
                    code[k] = U32(tables[line, U32(neighbor)]) if neighbor >= 0 else U32(NO_NEIGHBOR)
                seen = _residuals(code, near, levels, offset, base, residual)
                partial += _neighborhood(influence, item, lane, lanes, near, code, residual, seen, w, c)
            total = group_sum(partial, lanes)
            if lane == U32(0) and done + group < keys.shape[1]:
                hidden = hide and tables[line, item] != 0
                keys[line, item] = LAST if hidden else descending_key(total)

    return score_rows


@kernel
def fill_tables(users, indptr, items, codes, tables):
    """tables[b, item] = code of user b's rating of the item, 0 where there is none.

    users (B,) int32, indptr (M + 2,) int64, items (nnz,) int32, codes (nnz,) uint8: what each user rated; tables (B,
    any) uint8, overwritten.
    Launch: one block a user, any block.   Deterministic: yes, exact.
    Source: the set R(i) of Li et al. 2022, Table 1.
    """
    thread, step, line = U32(cuda.threadIdx.x), U32(cuda.blockDim.x), U32(cuda.blockIdx.x)
    user = U32(users[line])
    for item in range(thread, U32(tables.shape[1]), step):
        tables[line, item] = 0
    cuda.syncthreads()
    for t in range(U64(indptr[user]) + U64(thread), U64(indptr[user + U32(1)]), U64(step)):
        tables[line, U32(items[t])] = codes[t]


@kernel
def neighbor_codes(indptr, items, codes, query_indptr, query_items, places, neighbors, out, tables):
    """Which neighbours of each queried item its user rated, and how: the sets R and N of Eq. (1).

    indptr (M + 2,) int64, items (nnz,) int32, codes (nnz,) uint8 (1..254): what each user rated; query_indptr (M + 2,)
    int64, query_items (n,) int32: the pairs asked for, by user; places (n,) int64: where their lines go; neighbors (N
    + 1, K) int32,
    -1 for none; out (n, K) uint8: 0 unrated, 255 no neighbour, else the code; tables (blocks, N + 1) uint8, all zero
    before and after.
    Launch: any grid up to tables' lines, any block.   Deterministic: yes, exact.
    Source: the split S^K(j) = R^K(i;j) + N^K(i;j), Li et al. 2022, sec. 4.2.
    """
    thread, step = U64(cuda.threadIdx.x), U64(cuda.blockDim.x)
    line, size = U32(cuda.blockIdx.x), U64(neighbors.shape[1])
    for row in range(I32(cuda.blockIdx.x), I32(indptr.size - 1), I32(cuda.gridDim.x)):
        first, last = U64(indptr[U32(row)]), U64(indptr[U32(row + 1)])
        begin, end = U64(query_indptr[U32(row)]), U64(query_indptr[U32(row + 1)])
        for t in range(first + thread, last, step):
            tables[line, U32(items[t])] = codes[t]
        cuda.syncthreads()
        for x in range(thread, U64(end - begin) * size, step):
            t, k = U64(begin + x // size), U32(x % size)
            neighbor = neighbors[U32(query_items[t]), k]
            out[U64(places[t]), k] = tables[line, U32(neighbor)] if neighbor >= 0 else np.uint8(NO_NEIGHBOR)
        cuda.syncthreads()
        for t in range(first + thread, last, step):
            tables[line, U32(items[t])] = 0
        cuda.syncthreads()
