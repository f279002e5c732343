"""Eq. (1) of some users for all items, and the table of what each of them rated that it reads."""

import numpy as np

from gpukit._jit import njit, prange
from gpukit.factorization.model.layout import BASE, BIAS, EXTRA, NO_NEIGHBOR
from gpukit.factorization.twins.influence import terms_of_item
from gpukit.factorization.twins.rows import dot
from gpukit.selection.formulas import LAST, descending_key


@njit
def _look_up_codes(neighbors, table, code):
    """Codes of an item's neighbours, from the line of one user."""
    for k in range(code.size):
        code[k] = table[neighbors[k]] if neighbors[k] >= 0 else NO_NEIGHBOR


@njit(parallel=True)
def score_rows(users, tables, neighbors, levels, parameters, hide, keys):
    """Twin of kernels.scores.score_rows."""
    P, n, size = parameters.P, parameters.Q.shape[1] - EXTRA, neighbors.shape[1]
    for line in prange(users.size):
        q = parameters.Q[users[line]]
        code, scratch = np.empty(size, np.uint8), np.empty((3, size), np.float32)
        for item in range(keys.shape[1]):
            if hide and tables[line, item] != 0:
                keys[line, item] = LAST
                continue
            value = dot(P[item], q, n) + P[item, n + BIAS] + q[n + BIAS]
            if size:
                _look_up_codes(neighbors[item], tables[line], code)
                value += terms_of_item(parameters, item, q[n + BASE], code, levels, scratch)
            keys[line, item] = descending_key(value)


@njit(parallel=True)
def fill_tables(users, history, tables):
    """Twin of kernels.scores.fill_tables."""
    for line in prange(users.size):
        tables[line] = 0
        for t in range(history.indptr[users[line]], history.indptr[users[line] + 1]):
            tables[line, history.items[t]] = history.codes[t]
