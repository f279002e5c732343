"""Eq. (1) of some users for all items, with the tables of their ratings, and of pairs."""

import numpy as np

from gpukit._jit import copy_row, njit
from gpukit.factorization.model.layout import BASE, BIAS, EXTRA
from gpukit.factorization.solvers.sgd.formulas import ZERO, set_scale
from gpukit.factorization.twins.influence import dot, terms_of_item
from gpukit.scheduler import by_block
from gpukit.selection.formulas import descending_key

USERS = 32  # of a group
U32 = np.uint32
NAN = np.float32(np.nan)


@njit
def _columns(users, Q, size):
    """Return (F, users) float32: factors of some rows of Q, as columns."""
    columns = np.empty((size, users.size), np.float32)
    for place in range(users.size):
        copy_row(Q[users[place], :size], columns[:, place])
    return columns


@njit
def _multiply(row, columns, totals):
    """Add the dot product of a row with each column to totals."""
    for f in range(columns.shape[0]):
        factor, line = row[f], columns[f]
        for place in range(totals.size):
            totals[place] += factor * line[place]


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


@njit
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


@by_block(lambda tables: tables.rated.shape[0], heavy=True)
def score_rows(start, stop, users, tables, neighbors, levels, parameters, size, worth, hide, keys):
    """Twin of kernels.scores.score_rows."""
    P, Q = parameters.P, parameters.Q
    extra, with_terms = Q.shape[1] - EXTRA, parameters.influence.shape[1] > 1
    for group in range(start, stop):
        first = USERS * group
        mine = users[first : first + USERS]
        columns, totals = _columns(mine, Q, size), np.empty(mine.size, np.float32)
        bias, base, found = np.empty_like(totals), np.empty_like(totals), np.empty((3, mine.size), np.float32)
        for place in range(mine.size):
            bias[place], base[place] = Q[mine[place], extra + BIAS], Q[mine[place], extra + BASE]
        for item in range(keys.shape[1]):
            totals[:] = 0
            _multiply(P[item], columns, totals)
            for place in range(mine.size):
                totals[place] += P[item, extra + BIAS] + bias[place]
            if with_terms:
                _add_terms(tables, group, item, base, neighbors, levels, parameters, found, totals)
            word = tables.rated[group, item]
            for place in range(mine.size):
                hidden = hide and (word >> U32(place)) & U32(1)
                keys[first + place, item] = descending_key(NAN if hidden else totals[place] + worth[item])


@by_block(lambda tables: tables.rated.shape[0])
def fill_tables(start, stop, users, history, tables):
    """Twin of kernels.scores.fill_tables."""
    for group in range(start, stop):
        rated, codes, first = tables.rated[group], tables.codes[group], USERS * group
        rated[:] = 0
        for place in range(min(USERS, users.size - first)):
            user = users[first + place]
            for t in range(history.indptr[user], history.indptr[user + 1]):
                rated[history.items[t]] |= U32(1) << U32(place)
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
