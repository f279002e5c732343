"""Eq. (1) of some users for all items, with the tables of their ratings, and of pairs."""

import numpy as np

from gpukit._jit import njit
from gpukit.factorization.model.layout import BASE, BIAS, EXTRA
from gpukit.factorization.solvers.sgd.formulas import ZERO, set_scale
from gpukit.factorization.twins.influence import dot, terms_of_item
from gpukit.primitives.keys import descending_key, score_of_key
from gpukit.scheduler import by_block

USERS = 32  # of a group
ITEMS = 1 << 15  # of a block: scoring them for one user takes longer than waking a thread
U32 = np.uint32
NAN = np.float32(np.nan)


@njit
def _add_rated(word, codes, levels, base, offset, w, c, found):
    """Add a neighbour's terms for users whose bit is set in word.

    found (3, users): sums of rated terms, of unrated terms, counts of rated neighbours.
    """
    for place in range(codes.size):
        if (word >> U32(place)) & U32(1):
            found[0, place] += (levels[codes[place]] - offset - base[place]) * w
            found[1, place] -= c
            found[2, place] += 1


@njit(inline="always")
def _add_terms(tables, group, item, base, neighbors, levels, parameters, found, totals):
    """Add terms 2 and 3 of Eq. (1) of an item to totals, for each user of a group.

    found (3, users): scratch.
    """
    slots, near, silent = neighbors.shape[1], 0, ZERO
    influence, offsets = parameters.influence[item], parameters.offsets[item]
    found[:] = 0
    for k in range(slots):
        other = neighbors[item, k]
        if other < 0:
            continue
        near, silent = near + 1, silent + influence[slots + k]
        word = tables.rated[group, other]
        if word:
            codes = tables.codes[group, other, : totals.size]
            _add_rated(word, codes, levels, base, offsets[k], influence[k], influence[slots + k], found)
    for place in range(totals.size):
        seen = np.int64(found[2, place])
        totals[place] += set_scale(seen) * found[0, place] + set_scale(near - seen) * (silent + found[1, place])


@by_block(lambda tables, keys: tables.rated.shape[0] * -(-keys.shape[1] // ITEMS), heavy=True)
def score_rows(start, stop, users, tables, neighbors, levels, parameters, size, worth, hide, keys):
    """Twin of kernels.scores.score_rows."""
    P, Q, n_items = parameters.P, parameters.Q, keys.shape[1]
    extra, with_terms, parts = Q.shape[1] - EXTRA, parameters.influence.shape[1] > 1, -(-n_items // ITEMS)
    for block in range(start, stop):
        group, first_item = block // parts, ITEMS * (block % parts)
        first = USERS * group
        mine = users[first : first + USERS]
        base, totals = Q[mine, extra + BASE], np.empty(mine.size, np.float32)
        found = np.empty((3, mine.size), np.float32)
        for item in range(first_item, min(first_item + ITEMS, n_items)):
            row = P[item]
            for place in range(mine.size):
                user = Q[mine[place]]
                totals[place] = dot(row, user, size) + (row[extra + BIAS] + user[extra + BIAS])
            if with_terms:
                _add_terms(tables, group, item, base, neighbors, levels, parameters, found, totals)
            word = tables.rated[group, item]
            for place in range(mine.size):
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
            own = weights[history.items[t]]
            for item in range(sums.size):
                sums[item] += own[item]
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
