"""Eq. (1) of some users for all items, with the tables of their ratings, and of pairs.

Ratings of an item's neighbours by a user, as codes.

Parameter rows and neighbourhood terms of Eq. (1); an item's influence is w, then c.

Codes are first converted to numbers (0 or 1: rated, unrated), which are factors of all that follows. Codes are too
random for branch prediction, and loops without branches become vector instructions.

Functions that call others are inlined, because a call counts references of its array arguments.
"""

import numpy as np

from gpukit._jit import njit
from gpukit.factorization.arrays import USERS
from gpukit.factorization.model.layout import BASE, BIAS, EXTRA, NO_NEIGHBOR
from gpukit.factorization.solvers.sgd import formulas
from gpukit.factorization.solvers.sgd.formulas import ONE, ZERO, set_scale
from gpukit.primitives.keys import descending_key, score_of_key
from gpukit.scheduler import by_block

U8, U32 = np.uint8, np.uint32


@njit
def write_line(table, near, line):
    """Set line[k] to the code of item near[k] in a table.

    The last entry of the table is the code of -1, an empty slot.
    """
    nobody = U32(table.size - 1)
    for k in range(near.size):
        line[k] = table[min(U32(near[k]), nobody)]  # -1 is the largest uint32


@by_block(lambda tables: tables.shape[0], heavy=True)
def neighbor_codes(start, stop, history, query, neighbors, out, tables):
    """Twin of kernels.neighbor_codes."""
    workers = tables.shape[0]
    for worker in range(start, stop):
        table = tables[worker]
        table[-1] = NO_NEIGHBOR
        for row in range(worker, history.indptr.size - 1, workers):
            if query.indptr[row] == query.indptr[row + 1]:
                continue
            for t in range(history.indptr[row], history.indptr[row + 1]):
                table[history.items[t]] = history.codes[t]
            for t in range(query.indptr[row], query.indptr[row + 1]):
                write_line(table, neighbors[query.items[t]], out[query.places[t]])
            for t in range(history.indptr[row], history.indptr[row + 1]):
                table[history.items[t]] = 0
        table[-1] = 0


def look_up_codes(history, query, neighbors, out):
    """Twin of kernels.look_up_codes."""
    neighbor_codes(history, query, neighbors, out, np.zeros((1, len(neighbors)), np.uint8))


@njit
def dot(p, q, n):
    """Return the dot product of the first n numbers of two rows."""
    product = ZERO
    for f in range(n):
        product += p[f] * q[f]
    return product


@njit(nogil=True)
def row_products(rows, vector):
    """Return the dot products (n,) of rows (n, F) with a vector (F,), in the vector's dtype.

    For answers to one user: BLAS's threads would wait for each other when several threads ask.
    """
    out = np.empty(len(rows), vector.dtype)
    for i in range(len(rows)):
        out[i] = dot(rows[i], vector, vector.size)
    return out


@njit
def total(row):
    """Return the sum of a row."""
    result = ZERO
    for f in range(row.size):
        result += row[f]
    return result


@njit
def _look_up(code, levels, residual):
    """Set residual[k] to the level of a code.

    It is a separate loop, since only this step cannot be vectorized.
    """
    for k in range(code.size):
        residual[k] = levels[code[k]]


@njit
def _mark(code, offset, base, residual, rated, unrated):
    """Set residual[k] and rated[k] of rated neighbours, unrated[k] of others.

    residual has the levels before, then r - b of rated neighbours, else 0. rated and unrated are 0 or 1; both are 0 for
    an empty slot.
    """
    for k in range(code.size):
        known, value = U8(code[k] - U8(1)) < U8(NO_NEIGHBOR - 1), residual[k] - offset[k] - base
        residual[k] = value if known else ZERO
        rated[k] = ONE if known else ZERO
        unrated[k] = ONE if code[k] == 0 else ZERO


@njit(inline="always")
def residuals(code, levels, offset, base, residual, rated, unrated):
    """Set the residuals and marks of the neighbours, see _mark.

    Returns (|R|^-1/2, |N|^-1/2) of Eq. (1).
    """
    _look_up(code, levels, residual)
    _mark(code, offset, base, residual, rated, unrated)
    return formulas.set_scale(total(rated)), formulas.set_scale(total(unrated))


@njit(inline="always")
def terms(residual, unrated, w, c, explicit, implicit):
    """Return terms 2 and 3 of Eq. (1) for one rating.

    explicit, implicit: |R|^-1/2, |N|^-1/2.
    """
    return explicit * dot(residual, w, w.size) + implicit * dot(unrated, c, c.size)


@njit
def terms_of_item(parameters, row, base, code, levels, scratch):
    """Return `terms` of an item for a user.

    base: the user's baseline bias; code: codes of the neighbours; scratch (3, K).
    """
    size, influence = code.size, parameters.influence[row]
    residual, rated, unrated = scratch[0], scratch[1], scratch[2]
    explicit, implicit = residuals(code, levels, parameters.offsets[row], base, residual, rated, unrated)
    return terms(residual, unrated, influence[:size], influence[size:], explicit, implicit)


ITEMS = 1 << 15  # of a block: scoring them for one user takes longer than waking a thread
NAN = np.float32(np.nan)


@njit
def _add_rated(word, codes, levels, base, offset, w, c, result):
    """Add a neighbour's terms for users whose bit is set in word.

    result (3, users): sums of rated terms, of unrated terms, counts of rated neighbours.
    """
    for place in range(codes.size):
        if (word >> U32(place)) & U32(1):
            result[0, place] += (levels[codes[place]] - offset - base[place]) * w
            result[1, place] -= c
            result[2, place] += 1


@njit(inline="always")
def _add_terms(tables, group, item, base, neighbors, parameters, result, totals):
    """Add terms 2 and 3 of Eq. (1) of an item to totals, for each user of a group.

    result (3, users): scratch.
    """
    slots, near, silent = neighbors.shape[1], 0, ZERO
    influence, offsets = parameters.influence[item], parameters.offsets[item]
    result[:] = 0
    for k in range(slots):
        other = neighbors[item, k]
        if other < 0:
            continue
        near, silent = near + 1, silent + influence[slots + k]
        word = tables.rated[group, other]
        if word:
            codes = tables.codes[group, other, : totals.size]
            _add_rated(word, codes, tables.levels, base, offsets[k], influence[k], influence[slots + k], result)
    for place in range(totals.size):
        seen = np.int64(result[2, place])
        totals[place] += set_scale(seen) * result[0, place] + set_scale(near - seen) * (silent + result[1, place])


@by_block(lambda tables, keys: tables.rated.shape[0] * -(-keys.shape[1] // ITEMS), heavy=True)
def score_rows(start, stop, users, tables, neighbors, parameters, size, worth, hide, keys):
    """Twin of kernels.scores.score_rows."""
    P, Q, n_items = parameters.P, parameters.Q, keys.shape[1]
    extra, with_terms, parts = Q.shape[1] - EXTRA, parameters.influence.shape[1] > 1, -(-n_items // ITEMS)
    for block in range(start, stop):
        group, first_item = block // parts, ITEMS * (block % parts)
        first = USERS * group
        batch = users[first : first + USERS]
        base, totals = Q[batch, extra + BASE], np.empty(batch.size, np.float32)
        result = np.empty((3, batch.size), np.float32)
        for item in range(first_item, min(first_item + ITEMS, n_items)):
            row = P[item]
            for place in range(batch.size):
                user = Q[batch[place]]
                totals[place] = dot(row, user, size) + (row[extra + BIAS] + user[extra + BIAS])
            if with_terms:
                _add_terms(tables, group, item, base, neighbors, parameters, result, totals)
            word = tables.rated[group, item]
            for place in range(batch.size):
                hidden = hide and (word >> U32(place)) & U32(1)
                keys[first + place, item] = descending_key(NAN if hidden else totals[place] + worth[item])


@by_block(lambda tables: tables.rated.shape[0])
def fill_tables(start, stop, users, history, tables):
    """Twin of kernels.scores.fill_tables.

    Without neighbours no codes are read, and tables have no rows of them.
    """
    for group in range(start, stop):
        rated, codes, first = tables.rated[group], tables.codes[group], USERS * group
        rated[:] = 0
        for place in range(min(USERS, users.size - first)):
            user = users[first + place]
            for t in range(history.indptr[user], history.indptr[user + 1]):
                rated[history.items[t]] |= U32(1) << U32(place)
                if len(codes):
                    codes[history.items[t], place] = history.codes[t]


@by_block(lambda pairs: pairs.major.size)
def predict_pairs(start, stop, pairs, parameters, predicted):
    """Twin of kernels.scores.predict_pairs."""
    n, size = parameters.Q.shape[1] - EXTRA, pairs.codes.shape[1]
    scratch = np.empty((3, size), np.float32)
    for t in range(start, stop):
        row = pairs.major[t]
        p, q = parameters.P[row], parameters.Q[pairs.minor[t]]
        value = dot(p, q, n) + p[n + BIAS] + q[n + BIAS]
        if size:
            value += terms_of_item(parameters, row, q[n + BASE], pairs.codes[t], pairs.levels, scratch)
        predicted[t] = value


@by_block(lambda users: users.size, heavy=True)
def add_weights(start, stop, users, history, weights, keys):
    """Twin of kernels.add_weights."""
    sums = np.empty(keys.shape[1], np.float32)
    for line in range(start, stop):
        user, row = users[line], keys[line]
        sums[:] = 0
        for t in range(history.indptr[user], history.indptr[user + 1]):
            item_weights = weights[history.items[t]]
            for item in range(sums.size):
                sums[item] += item_weights[item]
        for item in range(sums.size):
            row[item] = descending_key(score_of_key(row[item]) + sums[item])


@by_block(lambda users: users.size, heavy=True)
def add_listed_weights(start, stop, users, history, lists, keys):
    """Twin of kernels.add_listed_weights."""
    for line in range(start, stop):
        user, row = users[line], keys[line]
        for t in range(history.indptr[user], history.indptr[user + 1]):
            item = history.items[t]
            for place in range(lists.starts[item], lists.starts[item + 1]):
                other = lists.items[place]
                row[other] = descending_key(score_of_key(row[other]) + lists.weights[place])
