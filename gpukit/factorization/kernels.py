"""Eq. (1) of some users for all items, with the tables of their ratings, and of pairs.

In score_rows a lane is a user. Most of 32 users have not rated most items: one word has a bit for each, and a neighbour
without a rating by any of them costs one look-up for all 32.

Ratings of an item's neighbours by a user, as codes.

Parameter rows and neighbourhood terms of Eq. (1) over a group of lanes.

A *parameter row* has the factors, padding with zeros, and layout.EXTRA more numbers: the bias b, the sum of squared
errors s and the baseline bias of the residuals in Eq. (1). layout.Rows has its layout. Lane l holds number l of the
last eight.
"""

from typing import NamedTuple

import numpy as np

from gpukit._cuda import cuda, device, factory, kernel
from gpukit.factorization.arrays import USERS
from gpukit.factorization.model.layout import BASE, BIAS, EXTRA, NO_NEIGHBOR
from gpukit.factorization.solvers.sgd import formulas
from gpukit.factorization.solvers.sgd.formulas import F32, ZERO, set_scale
from gpukit.primitives.keys import descending_key, score_of_key
from gpukit.primitives.rows import as_floats, load_row, load_stored, partial_dot
from gpukit.primitives.search import lower_bound, upper_bound
from gpukit.primitives.warp import FULL, group_pick, group_sum
from gpukit.primitives.wide import read4

U32, I32, I64, U64 = np.uint32, np.int32, np.int64, np.uint64
LANES = 8  # threads that write a line together


@device
def enter(history, row, thread, step, table):
    """Write the codes of a user's ratings to a table by item.

    The table must have no codes of another user.
    """
    for t in range(U64(history.indptr[U32(row)]) + thread, U64(history.indptr[U32(row + 1)]), step):
        table[U32(history.items[t])] = history.codes[t]


@device
def clear(history, row, thread, step, table):
    """Remove what `enter` wrote."""
    for t in range(U64(history.indptr[U32(row)]) + thread, U64(history.indptr[U32(row + 1)]), step):
        table[U32(history.items[t])] = 0


@device
def code_of(table, neighbor):
    """Return the code of an item row in a table.

    A negative row is an empty slot.
    """
    return U32(table[U32(neighbor)]) if neighbor >= 0 else U32(NO_NEIGHBOR)


@device
def answer(query, row, neighbors, thread, step, table, out):
    """Write the lines of out for one user's queried items.

    Codes are in table; LANES threads write a line.
    """
    lane, words = U32(U32(thread) % U32(LANES)), U32(neighbors.shape[1] // 4)
    for t in range(U64(query.indptr[U32(row)]) + thread // LANES, U64(query.indptr[U32(row + 1)]), step // LANES):
        item, place = U32(query.items[t]), U64(query.places[t])
        for w in range(lane, words, U32(LANES)):
            k, word = U32(U32(4) * w), U32(0)
            for part in range(4):
                word |= U32(code_of(table, neighbors[item, U32(k + U32(part))]) << U32(8 * part))
            out[place, w] = word


@kernel
def neighbor_codes(history, query, neighbors, out, tables):
    """Write the codes of each queried item's neighbours: sets R and N of Eq. (1).

    history: arrays.History; query: arrays.Query, n pairs by user; neighbors (N + 1, K) int32, -1 for none; out (n, K /
    4) uint32, four neighbours a word: 0 unrated, 255 no neighbour, else the code; tables (blocks, N + 1) uint8, all
    zero before and after.

    Launch: any grid up to tables' lines, blocks of a multiple of 8 threads.
    Deterministic: yes, exact.
    Source: the split S^K(j) = R^K(i;j) + N^K(i;j), Li et al. 2022, sec. 4.2.
    """
    thread, step = U64(cuda.threadIdx.x), U64(cuda.blockDim.x)
    table = tables[U32(cuda.blockIdx.x)]
    for row in range(I32(cuda.blockIdx.x), I32(history.indptr.size - 1), I32(cuda.gridDim.x)):
        if query.indptr[U32(row)] == query.indptr[U32(row + 1)]:  # the same for the whole block
            continue
        enter(history, row, thread, step, table)
        cuda.syncthreads()
        answer(query, row, neighbors, thread, step, table, out)
        cuda.syncthreads()
        clear(history, row, thread, step, table)
        cuda.syncthreads()


@device
def code_in(history, begin, end, neighbor):
    """Return the code of an item in a user's ratings, by bisection.

    begin:end: the user's ratings. A negative row is an empty slot.
    """
    if neighbor < 0:
        return U32(NO_NEIGHBOR)
    place = lower_bound(history.items, neighbor, begin, end)
    rated = place < end and history.items[U64(min(place, end - I64(1)))] == neighbor
    return U32(history.codes[U64(place)]) if rated else U32(0)


@kernel
def look_up_codes(history, query, neighbors, out):
    """Write neighbor_codes for few pairs, by bisection in the user's ratings.

    history: arrays.History, whose items rise within a user; query: arrays.Query, the n pairs; neighbors (N + 1, K)
    int32 and out (n, K / 4) uint32 as in neighbor_codes.

    Launch: any grid, blocks of a multiple of 8 threads.
    Deterministic: yes, exact.
    Source: as neighbor_codes.
    """
    lane, words = I64(cuda.threadIdx.x) % I64(LANES), I64(neighbors.shape[1] // 4)
    first, step = I64(cuda.grid(1)) // I64(LANES), I64(cuda.gridsize(1)) // I64(LANES)
    for t in range(first, I64(query.places.size), step):
        row = U64(upper_bound(query.indptr, t, 0, query.indptr.size) - I64(1))
        begin, end = I64(history.indptr[row]), I64(history.indptr[row + U64(1)])
        item, place = U32(query.items[U64(t)]), U64(query.places[U64(t)])
        for w in range(lane, words, I64(LANES)):
            word = U32(0)
            for part in range(4):
                code = code_in(history, begin, end, neighbors[item, U32(4 * w + part)])
                word |= U32(code << U32(8 * part))
            out[place, U64(w)] = word


UNRATED = 1 << 16  # factor of the unrated neighbours in the count of `residuals`


@device
def lane_of(lanes):
    """Return the thread's number in its group of lanes."""
    return U32(U32(cuda.threadIdx.x) % U32(lanes))


@device
def load_extra(matrix, row, lane):
    """Load the lane's number of the last eight of a parameter row.

    The L1 cache is bypassed.
    """
    return cuda.ldcg(matrix, (row, U32(U32(matrix.shape[1] - EXTRA) + lane))) if lane < U32(EXTRA) else ZERO


class Near(NamedTuple):
    """A lane's part of one item's neighbourhood, a number a neighbour.

    w, c; offset: baseline biases; code; residual: r - b; words: the codes as stored, four to a word. They are local
    arrays, which a kernel declares itself: those of a device function end with it.
    """

    w: np.ndarray
    c: np.ndarray
    offset: np.ndarray
    code: np.ndarray
    residual: np.ndarray
    words: np.ndarray


@device
def load_words(codes, t, lane, lanes, count, words):
    """Load the lane's words of rating t, four codes each."""
    for i in range(count // 4):
        words[i] = codes[U64(t), U32(lane + U32(i * lanes))]


@device
def unpack(words, count, code):
    """Unpack the codes of the lane's neighbours, four to a word."""
    for k in range(count):
        code[k] = U32(U32(words[k // 4] >> U32(8 * (k % 4))) & U32(0xFF))


@device
def load_influence(influence, row, lane, lanes, count, near):
    """Load the lane's w and c of an item."""
    load_row(influence, row, U32(0), lane, lanes, count, near.w)
    load_row(influence, row, U32(lanes * count), lane, lanes, count, near.c)


@device
def residuals(near, count, levels, base):
    """Set near.residual to r - b of rated neighbours, else 0.

    Returns the number of rated ones + UNRATED * the number of unrated ones.
    """
    code, offset, residual = near.code, near.offset, near.residual
    seen = I32(0)
    for k in range(count):
        known = code[k] != U32(0) and code[k] != U32(NO_NEIGHBOR)
        residual[k] = F32(F32(levels[code[k]] - offset[k]) - base) if known else ZERO
        seen += I32(1) if known else I32(0)
        seen += I32(UNRATED) if code[k] == U32(0) else I32(0)
    return seen


@device
def set_scales(seen, lanes):
    """Return (|R|^-1/2, |N|^-1/2) of Eq. (1) from the lanes' counts of `residuals`."""
    seen = group_sum(seen, lanes)
    return formulas.set_scale(seen & I32(UNRATED - 1)), formulas.set_scale(seen >> I32(16))


@device
def terms(near, count, explicit, implicit):
    """Return the lane's part of terms 2 and 3 of Eq. (1).

    explicit, implicit: |R|^-1/2, |N|^-1/2.
    """
    rated, unrated = ZERO, ZERO
    for k in range(count):
        rated += near.residual[k] * near.w[k]
        unrated += near.c[k] if near.code[k] == U32(0) else ZERO
    return explicit * rated + implicit * unrated


@device
def terms_of_item(parameters, row, q_extra, levels, lane, lanes, count, near):
    """Load an item's neighbourhood and return its `terms`.

    Its codes are unpacked before. q_extra: the lane's number of the user's row.
    """
    load_row(parameters.offsets, row, U32(0), lane, lanes, count, near.offset)
    seen = residuals(near, count, levels, group_pick(q_extra, BASE, lanes))
    load_influence(parameters.influence, row, lane, lanes, count, near)
    explicit, implicit = set_scales(seen, lanes)
    return terms(near, count, explicit, implicit)


ITEMS = 32  # scored by a warp at a time
ROWS = 8  # items that a lane multiplies at a time, in registers
PADDED = ITEMS + 1  # against bank conflicts
WARPS = 4  # of a block, at most
NAN = np.float32(np.nan)


@device
def multiply_rows(P, first, Q, row, size, sums, out):
    """Set out[i] to the dot product of Q[row] and P[first + i].

    i is below ROWS. size: length of the product, padded to quads by zeros. Rows beyond P's last are read as the last.
    sums (ROWS,): registers.
    """
    for i in range(ROWS):
        sums[i] = ZERO
    for index in range(U32(0), U32(size), U32(4)):
        a, b, c, d = read4(Q, U32(row), U32(index))
        for i in range(ROWS):
            x, y, z, w = read4(P, min(U32(first + U32(i)), U32(P.shape[0] - 1)), U32(index))
            sums[i] += a * x + b * y + c * z + d * w
    for i in range(ROWS):
        out[i] = sums[i]


@device
def load_slot(parameters, neighbors, item, k, slots):
    """Return (neighbour, w, c, its baseline bias) of an item's slot k.

    The neighbour is -1 for an empty slot, and beyond the last slot.
    """
    if k >= slots:
        return I32(-1), ZERO, ZERO, ZERO
    influence = parameters.influence
    other = I32(neighbors[item, k])
    return other, influence[item, k], influence[item, U32(slots + k)], parameters.offsets[item, k]


@device
def terms_for_group(tables, group, lane, item, base, neighbors, parameters):
    """Return terms 2 and 3 of Eq. (1) of an item for the lane's user, with counts.

    base: the user's baseline bias. A lane loads a slot; the rated neighbours are processed slot by slot.
    """
    slots = U32(parameters.influence.shape[1] // 2)
    explicit, implicit, seen, near = ZERO, ZERO, I32(0), I32(0)
    for start in range(U32(0), slots, U32(32)):
        other, w, c, offset = load_slot(parameters, neighbors, item, U32(start + lane), slots)
        word = I32(tables.rated[group, U32(other)]) if other >= 0 else I32(0)
        near += I32(cuda.popc(U32(cuda.ballot_sync(FULL, other >= 0))))
        implicit += group_sum(c, 32)
        left = U32(cuda.ballot_sync(FULL, word != I32(0)))
        while left != U32(0):
            k = I32(cuda.ffs(left) - 1)
            left = U32(left & U32(left - U32(1)))
            its, rated = U32(cuda.shfl_sync(FULL, other, k)), U32(cuda.shfl_sync(FULL, word, k))
            weight, quiet = cuda.shfl_sync(FULL, w, k), cuda.shfl_sync(FULL, c, k)
            expected = F32(cuda.shfl_sync(FULL, offset, k) + base)
            if U32(rated >> U32(lane)) & U32(1):
                explicit += F32(tables.levels[tables.codes[group, its, lane]] - expected) * weight
                implicit -= quiet
                seen += I32(1)
    return explicit, implicit, seen, near


@kernel
def score_rows(users, tables, neighbors, parameters, size, worth, hide, keys):
    """Compute Eq. (1) of some users for all items, as sort keys.

    The keys sort the best first (primitives.keys.descending_key). users (B,) int32: rows of Q; tables: their
    arrays.Tables; neighbors (N + 1, K) int32, -1 for none; parameters: arrays.Parameters, P are the items, influence is
    narrower than 2 without neighbours; size: factors; worth (N,) float32: added to each item's scores, NaN excludes the
    item; hide: exclude rated items; keys (B, N) uint32, overwritten, 2**32 - 1 for excluded items.

    Launch: grid (any, groups of 32 users), blocks of 1 to 4 warps.
    Deterministic: yes; budget.
    Source: Li et al. 2022, Eq. (1).
    """
    tile = cuda.shared.array((WARPS, ITEMS, PADDED), np.float32)
    sums = cuda.local.array(ROWS, np.float32)
    lane, warp, group = U32(cuda.threadIdx.x & 31), U32(cuda.threadIdx.x >> 5), U32(cuda.blockIdx.y)
    n_items, extra = U32(keys.shape[1]), U32(parameters.Q.shape[1] - EXTRA)
    user = U32(users[min(U32(U32(group * U32(USERS)) + lane), U32(users.size - 1))])
    bias, base = parameters.Q[user, U32(extra + U32(BIAS))], parameters.Q[user, U32(extra + U32(BASE))]
    extra = U32(parameters.P.shape[1] - EXTRA)
    for first in range(U32(cuda.grid(2)[0] // 32 * ITEMS), n_items, U32(cuda.gridsize(2)[0] // 32 * ITEMS)):
        count = min(U32(ITEMS), U32(n_items - first))
        for i in range(U32(0), U32(ITEMS), U32(ROWS)):
            out = tile[warp, i:, lane]
            multiply_rows(parameters.P, U32(first + i), parameters.Q, user, size, sums, out)
        for i in range(count):
            item = U32(first + U32(i))
            total = tile[warp, i, lane] + (parameters.P[item, U32(extra + U32(BIAS))] + bias)
            if parameters.influence.shape[1] > 1:
                explicit, implicit, seen, near = terms_for_group(tables, group, lane, item, base, neighbors, parameters)
                total += set_scale(seen) * explicit + set_scale(I32(near - seen)) * implicit
            hidden = hide and U32(U32(tables.rated[group, item]) >> lane) & U32(1)
            tile[warp, i, lane] = NAN if hidden else F32(total + worth[item])
        cuda.syncwarp()
        for i in range(USERS):
            line = U32(U32(group * U32(USERS)) + U32(i))
            if lane < count and line < U32(users.size):
                keys[line, U32(first + lane)] = descending_key(tile[warp, lane, i])
        cuda.syncwarp()


@kernel
def fill_tables(users, history, tables):
    """Write the ratings of some users to tables.

    users (B,) int32; history: arrays.History; tables: arrays.Tables, rated overwritten, codes overwritten for rated
    items, levels not read.

    Launch: one block a group of 32 users, any whole warps.
    Deterministic: yes, exact.
    Source: the set R(i) of Li et al. 2022, Table 1.
    """
    thread, step, group = U32(cuda.threadIdx.x), U32(cuda.blockDim.x), U32(cuda.blockIdx.x)
    first_line = U32(group * U32(USERS))
    for item in range(thread, U32(tables.rated.shape[1]), step):
        tables.rated[group, item] = 0
    cuda.syncthreads()
    for place in range(U32(thread >> U32(5)), min(U32(USERS), U32(U32(users.size) - first_line)), U32(step >> U32(5))):
        user = U32(users[U32(first_line + U32(place))])
        first, last = U64(history.indptr[user]), U64(history.indptr[user + U32(1)])
        for t in range(U64(first + U64(thread & U32(31))), last, U64(32)):
            item = U32(history.items[t])
            tables.codes[group, item, U32(place)] = history.codes[t]
            cuda.atomic.or_(tables.rated, (group, item), U32(U32(1) << U32(place)))


@device
def place_of(done, group, count):
    """Return a group's (position uint64, is valid) in one round.

    done: first position of the round. The position is always in range. It has 64 bits: near 2**31 pairs, `done` plus
    the groups exceed an int32.
    """
    place = U64(U64(done) + U64(group))
    return min(place, U64(U64(count) - U64(1))), place < U64(count)


@factory
def make_predict_pairs(lanes, factors, near, half):
    """Return predict_pairs for `lanes` threads a pair.

    Each thread has `factors` factors and `near` neighbours (multiples of 4; near may be 0). half: the factors in Q are
    float16, two to a number.
    """
    slots = max(near, 1)

    @kernel
    def predict_pairs(pairs, parameters, predicted):
        """Compute Eq. (1) for pairs of rows, in the units of training.

        pairs: arrays.Pairs, n of them, codes (n, K / 4) uint32; parameters: arrays.Parameters, K = lanes * near;
        predicted (n,) float32, overwritten.

        Launch: any grid, blocks of a multiple of 32 threads.
        Deterministic: yes; budget.
        Source: Li et al. 2022, Eq. (1).
        """
        lane, levels = lane_of(lanes), pairs.levels
        group, groups = U32(cuda.grid(1)) // U32(lanes), U32(cuda.gridsize(1)) // U32(lanes)
        p = cuda.local.array(factors, np.float32)
        q = cuda.local.array(factors, np.float32)
        q_stored = cuda.local.array(factors, np.float32)
        around = Near(
            cuda.local.array(slots, np.float32),
            cuda.local.array(slots, np.float32),
            cuda.local.array(slots, np.float32),
            cuda.local.array(slots, np.uint32),
            cuda.local.array(slots, np.float32),
            cuda.local.array(slots, np.uint32),
        )
        for done in range(U64(0), U64(pairs.major.size), U64(groups)):
            t, index = place_of(done, group, pairs.major.size)
            row, other = U32(pairs.major[t]), U32(pairs.minor[t])
            load_row(parameters.P, row, U32(0), lane, lanes, factors, p)
            load_stored(parameters.Q, other, lane, lanes, factors, half, q_stored)
            as_floats(q_stored, factors, half, q)
            q_extra = load_extra(parameters.Q, other, lane)
            partial = partial_dot(p, q, factors)
            if lane == U32(BIAS):
                partial += load_extra(parameters.P, row, lane) + q_extra
            if near:
                load_words(pairs.codes, t, lane, lanes, near, around.words)
                unpack(around.words, near, around.code)
                partial += terms_of_item(parameters, row, q_extra, levels, lane, lanes, near, around)
            total = group_sum(partial, lanes)
            if lane == U32(0) and index:
                predicted[t] = total

    return predict_pairs


@kernel
def add_weights(users, history, weights, keys):
    """Add to each score the sum of weights of the user's items.

    score_uj += sum over the items i of user u of B_ij

    users (B,) int32; history: arrays.History; weights (N, N) float32: B, contiguous; keys (B, N) uint32: scores as sort
    keys (primitives.keys.descending_key), updated; an excluded item stays excluded.

    Launch: grid (any, any), any block of one dimension; the second dimension of the grid covers users.
    Deterministic: yes, exact.
    Source: Steck, WWW 2019, Eq. (1).
    """
    thread, step = U32(cuda.grid(2)[0]), U32(cuda.gridsize(2)[0])
    for line in range(U32(cuda.blockIdx.y), U32(users.size), U32(cuda.gridDim.y)):
        user = U32(users[line])
        first, last = U64(history.indptr[user]), U64(history.indptr[user + U32(1)])
        for item in range(thread, U32(keys.shape[1]), step):
            total = F32(0)
            for t in range(first, last):
                total += weights[U32(history.items[t]), item]
            keys[line, item] = descending_key(F32(score_of_key(keys[line, item]) + total))


@kernel
def add_listed_weights(users, history, lists, keys):
    """Add to each score the sum of the listed weights of the user's items.

    score_uj += sum over the items i of user u of B_ij

    users (B,) int32; history: arrays.History; lists: arrays.WeightLists, the rows of B with each item at most once in
    a row; keys (B, N) uint32: scores as sort keys, updated; an excluded item stays excluded.

    Launch: grid (any), any block of one dimension.
    Deterministic: yes, exact.
    Source: Steck, WWW 2019, Eq. (1).
    """
    thread, step = U64(cuda.threadIdx.x), U64(cuda.blockDim.x)
    for line in range(U32(cuda.blockIdx.x), U32(users.size), U32(cuda.gridDim.x)):
        user = U32(users[line])
        for t in range(U64(history.indptr[user]), U64(history.indptr[user + U32(1)])):
            row = U32(history.items[t])
            cuda.syncthreads()
            for place in range(U64(lists.starts[row]) + thread, U64(lists.starts[row + U32(1)]), step):
                item = U32(lists.items[place])
                keys[line, item] = descending_key(F32(score_of_key(keys[line, item]) + lists.weights[place]))
