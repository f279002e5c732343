"""CPU twins of batch_kernels.py."""

import numpy as np

from gpukit._jit import copy_row, njit
from gpukit.factorization.model.layout import BASE, BIAS, EXTRA, SQUARES
from gpukit.factorization.solvers.sgd import formulas
from gpukit.factorization.solvers.sgd.formulas import F32, ZERO
from gpukit.factorization.twins import dot, residuals, terms
from gpukit.scheduler import by_block

U32, U64 = np.uint32, np.uint64


@by_block(lambda chunks: chunks.shape[0])
def key_batch(start, stop, chunks, minor, ranks, keys, slots):
    """Twin of kernels.key_batch."""
    for c in range(start, stop):
        first, length, slot = chunks[c, 1], chunks[c, 2], chunks[c, 3]
        for t in range(length):
            keys[slot + t] = U64(ranks[minor[first + t]])
            slots[slot + t] = U32(slot + t)


@njit
def _add_factors(change, p, q, n, error, rate, decay):
    """change += Eq. (5) for the factors of one rating."""
    for f in range(n):
        change[f] += formulas.factor_change(p[f], q[f], error, rate, decay)


@njit
def add(row, change):
    """row += change; change = 0."""
    for f in range(change.size):
        row[f] += change[f]
        change[f] = ZERO


@njit(inline="always")
def learn(change, p, q, n, error, rates):
    """change += Eq. (5) for the factors, the bias and the sum of squared errors of one rating of the row p."""
    squares = p[n + SQUARES]
    rate = formulas.row_rate(rates.factor, rates.factor_gain, squares)
    _add_factors(change, p, q, n, error, rate, rates.factor_decay)
    rate = formulas.row_rate(rates.bias, rates.bias_gain, squares)
    change[n + BIAS] += formulas.bias_change(p[n + BIAS], error, rate, rates.bias_decay)
    change[n + SQUARES] += error * error


@njit
def _add_influence(change, own, signal, is_present, error, rate, decay):
    """change += Eq. (5) for w or c of one rating; see sgd.twins."""
    for k in range(own.size):
        change[k] += is_present[k] * formulas.influence_change(own[k], error * signal[k], rate, decay)


@njit(inline="always")
def _walk(chunk, batch, parameters, rates, seen):
    """Process one chunk."""
    (minor, values, codes, levels), (P, Q, influence, offsets) = batch, parameters
    row, first, length, slot, at_once = chunk[0], chunk[1], chunk[2], chunk[3], chunk[4]
    n, size = Q.shape[1] - EXTRA, codes.shape[1]
    p, change, scratch = P[row], np.zeros(n + SQUARES + 1, F32), np.zeros((5, size), F32)
    item = row if size else 0
    offset, w, c = offsets[item], influence[item, :size], influence[item, size:]
    residual, rated, unrated, w_change, c_change = scratch[0], scratch[1], scratch[2], scratch[3], scratch[4]
    for t in range(length):
        q, explicit, implicit, near = Q[minor[first + t]], ZERO, ZERO, ZERO
        if size:
            explicit, implicit = residuals(codes[first + t], levels, offset, q[n + BASE], residual, rated, unrated)
            near = terms(residual, unrated, w, c, explicit, implicit)
        target = values[first + t] - (p[n + BIAS] + near)
        error = target - (dot(p, q, n) + q[n + BIAS])
        copy_row(p[:n], seen[slot + t])
        seen[slot + t, n] = target
        learn(change, p, q, n, error, rates)
        if size:
            rate = formulas.row_rate(rates.influence, rates.factor_gain, p[n + SQUARES])
            _add_influence(w_change, w, residual, rated, explicit * error, rate, rates.influence_decay)
            _add_influence(c_change, c, unrated, unrated, implicit * error, rate, rates.influence_decay)
        if (t + 1) % at_once == 0 or t + 1 == length:
            add(p, change)
            if size:
                add(w, w_change)
                add(c, c_change)


@by_block(lambda chunks: chunks.shape[0])
def walk_major(start, stop, chunks, batch, parameters, rates, seen):
    """Twin of kernels.walk_major."""
    for c in range(start, stop):
        _walk(chunks[c], batch, parameters, rates, seen)


@njit
def _walk_seen(slots, at_once, seen, q, rates):
    """Process one minor row."""
    n = q.size - EXTRA
    change = np.zeros(n + SQUARES + 1, F32)
    for t in range(slots.size):
        p = seen[slots[t]]
        error = p[n] - (dot(p, q, n) + q[n + BIAS])
        learn(change, q, p, n, error, rates)
        if (t + 1) % at_once == 0 or t + 1 == slots.size:
            add(q, change)


@by_block(lambda rows: rows.size)
def walk_minor(start, stop, starts, slots, rows, at_once, seen, Q, rates):
    """Twin of kernels.walk_minor."""
    for k in range(start, stop):
        if starts[k + 1] > starts[k]:
            _walk_seen(slots[starts[k] : starts[k + 1]], at_once[k], seen, Q[rows[k]], rates)
