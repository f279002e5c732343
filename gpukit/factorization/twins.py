"""CPU twins of kernels.py: the same names and arguments, over threads instead of groups of lanes.

With one worker the chunks are walked in their order, so a run repeats to the bit. Several workers share the minor rows
without locks (Hogwild): with a handful of threads a lost update is rare. codes are bytes here, (n, K) uint8, not words
of four.
"""

import numpy as np

from gpukit._jit import njit, prange
from gpukit.factorization.model.layout import BASE, BIAS, EXTRA, NO_NEIGHBOR, SQUARES
from gpukit.factorization.solvers.sgd import formulas
from gpukit.factorization.solvers.sgd.formulas import ZERO
from gpukit.random import below
from gpukit.selection.formulas import LAST, descending_key


@njit
def _dot(p, q, n):
    total = ZERO
    for f in range(n):
        total += p[f] * q[f]
    return total


@njit
def _residuals(code, levels, offset, base, residual):
    """residual[k] = r - b of rated neighbours, else 0; returns (rated, unrated)."""
    rated, unrated = 0, 0
    for k in range(code.size):
        known = code[k] != 0 and code[k] != NO_NEIGHBOR
        residual[k] = levels[code[k]] - offset[k] - base if known else ZERO
        rated += known
        unrated += code[k] == 0
    return rated, unrated


@njit
def _influence(code, residual, influence, explicit, implicit):
    """Terms 2 and 3 of Eq. (1) for one rating."""
    size = code.size
    told, silent = ZERO, ZERO
    for k in range(size):
        told += residual[k] * influence[k]
        silent += influence[size + k] if code[k] == 0 else ZERO
    return explicit * told + implicit * silent


@njit
def _learn_influence(code, residual, influence, told, silent, rate, decay):
    """Eq. (5) for w (rated neighbours) and c (the others) of one item; told, silent: |S|^-1/2 e."""
    size = code.size
    for k in range(size):
        w, c = influence[k], influence[size + k]
        unrated = code[k] == 0
        influence[k] = w if unrated else w + formulas.influence_change(w, told * residual[k], rate, decay)
        influence[size + k] = c + formulas.influence_change(c, silent, rate, decay) if unrated else c


@njit
def _learn_factors(p, q, n, error, own_rate, other_rate, decay):
    """Eq. (5) for both factor rows, each from the other's old value."""
    for f in range(n):
        u, v = p[f], q[f]
        p[f] = u + formulas.factor_change(u, v, error, own_rate, decay)
        q[f] = v + formulas.factor_change(v, u, error, other_rate, decay)


@njit
def _learn_extra(extra, error, rates):
    """Eq. (5) for the bias, and the row's sum of squared errors."""
    rate = formulas.row_rate(rates.bias, rates.bias_gain, extra[SQUARES])
    extra[BIAS] += formulas.bias_change(extra[BIAS], error, rate, rates.bias_decay)
    extra[SQUARES] += error * error


@njit
def _walk(chunk, shift, minor, ratings, codes, levels, P, Q, influence, offsets, rates):
    """One chunk: consecutive ratings of one major row, visited from `shift` on, around."""
    row, start, length = chunk
    n, size = Q.shape[1] - EXTRA, codes.shape[1]
    p, p_extra, residual = P[row], P[row, n:], np.empty(size, np.float32)
    explicit, implicit = ZERO, ZERO
    for step in range(length):
        t = start + (step + shift if step + shift < length else step + shift - length)
        q, q_extra = Q[minor[t]], Q[minor[t], n:]
        predicted = _dot(p, q, n) + p_extra[BIAS] + q_extra[BIAS]
        if size:
            rated, unrated = _residuals(codes[t], levels, offsets[row], q_extra[BASE], residual)
            explicit, implicit = formulas.set_scale(rated), formulas.set_scale(unrated)
            predicted += _influence(codes[t], residual, influence[row], explicit, implicit)
        error = ratings[t] - predicted
        own_rate = formulas.row_rate(rates.factor, rates.factor_gain, p_extra[SQUARES])
        other_rate = formulas.row_rate(rates.factor, rates.factor_gain, q_extra[SQUARES])
        if size:
            rate = formulas.row_rate(rates.influence, rates.factor_gain, p_extra[SQUARES])
            _learn_influence(
                codes[t], residual, influence[row], explicit * error, implicit * error, rate, rates.influence_decay
            )
        _learn_factors(p, q, n, error, own_rate, other_rate, rates.factor_decay)
        _learn_extra(p_extra, error, rates)
        _learn_extra(q_extra, error, rates)


@njit(parallel=True)
def sgd_epoch(chunks, minor, ratings, codes, levels, P, Q, influence, offsets, rates, turn, workers):
    """Twin of kernels.sgd_epoch."""
    for worker in prange(workers):
        for c in range(worker, chunks.shape[0], workers):
            length = chunks[c, 2]
            if length > 0:
                chunk = (chunks[c, 0], chunks[c, 1], length)
                shift = below(turn, c, length)
                _walk(chunk, shift, minor, ratings, codes, levels, P, Q, influence, offsets, rates)


@njit
def _neighbourhood(code, levels, offset, base, influence, residual):
    """Terms 2 and 3 of Eq. (1)."""
    rated, unrated = _residuals(code, levels, offset, base, residual)
    return _influence(code, residual, influence, formulas.set_scale(rated), formulas.set_scale(unrated))


@njit(parallel=True)
def predict_pairs(major, minor, codes, levels, P, Q, influence, offsets, predicted):
    """Twin of kernels.predict_pairs."""
    n, size = Q.shape[1] - EXTRA, codes.shape[1]
    for t in prange(major.size):
        p, q = P[major[t]], Q[minor[t]]
        value = _dot(p, q, n) + p[n + BIAS] + q[n + BIAS]
        if size:
            residual = np.empty(size, np.float32)
            value += _neighbourhood(codes[t], levels, offsets[major[t]], q[n + BASE], influence[major[t]], residual)
        predicted[t] = value


@njit(parallel=True)
def score_rows(users, tables, neighbors, levels, P, Q, influence, offsets, hide, keys):
    """Twin of kernels.score_rows."""
    n, size = Q.shape[1] - EXTRA, neighbors.shape[1]
    for line in prange(users.size):
        q = Q[users[line]]
        code, residual = np.empty(size, np.uint8), np.empty(size, np.float32)
        for item in range(keys.shape[1]):
            if hide and tables[line, item] != 0:
                keys[line, item] = LAST
                continue
            value = _dot(P[item], q, n) + P[item, n + BIAS] + q[n + BIAS]
            if size:
                for k in range(size):
                    neighbor = neighbors[item, k]
                    code[k] = tables[line, neighbor] if neighbor >= 0 else NO_NEIGHBOR
                value += _neighbourhood(code, levels, offsets[item], q[n + BASE], influence[item], residual)
            keys[line, item] = descending_key(value)


@njit(parallel=True)
def fill_tables(users, indptr, items, codes, tables):
    """Twin of kernels.fill_tables."""
    for line in prange(users.size):
        tables[line] = 0
        for t in range(indptr[users[line]], indptr[users[line] + 1]):
            tables[line, items[t]] = codes[t]


@njit(parallel=True)
def neighbor_codes(indptr, items, codes, query_indptr, query_items, places, neighbors, out, tables):
    """Twin of kernels.neighbor_codes."""
    workers = tables.shape[0]
    for worker in prange(workers):
        table = tables[worker]
        for row in range(worker, indptr.size - 1, workers):
            for t in range(indptr[row], indptr[row + 1]):
                table[items[t]] = codes[t]
            for t in range(query_indptr[row], query_indptr[row + 1]):
                line, near = out[places[t]], neighbors[query_items[t]]
                for k in range(near.size):
                    line[k] = table[near[k]] if near[k] >= 0 else NO_NEIGHBOR
            for t in range(indptr[row], indptr[row + 1]):
                table[items[t]] = 0
