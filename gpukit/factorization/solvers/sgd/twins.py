"""The CPU twin of kernels.py, over threads instead of groups of lanes.

With one worker the chunks are walked in their order, so a run repeats to the bit. Several workers share the minor rows
without locks (Hogwild): with a handful of threads a lost update is rare.
"""

import numpy as np

from gpukit._jit import njit, prange
from gpukit.factorization.model.layout import BASE, BIAS, EXTRA, SQUARES
from gpukit.factorization.solvers.sgd import formulas
from gpukit.factorization.solvers.sgd.formulas import ZERO
from gpukit.factorization.twins.influence import residuals, terms
from gpukit.factorization.twins.rows import dot
from gpukit.random import below


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
def _learn(t, row, batch, parameters, rates, residual):
    """Eq. (5) for rating t, of major row `row`; residual: scratch, a number a neighbour."""
    Q, other, size = parameters.Q, batch.minor[t], residual.size
    n = Q.shape[1] - EXTRA
    p, p_extra, q, q_extra = parameters.P[row], parameters.P[row, n:], Q[other], Q[other, n:]
    predicted = dot(p, q, n) + p_extra[BIAS] + q_extra[BIAS]
    explicit, implicit = ZERO, ZERO
    if size:
        code, influence = batch.codes[t], parameters.influence[row]
        rated, unrated = residuals(code, batch.levels, parameters.offsets[row], q_extra[BASE], residual)
        explicit, implicit = formulas.set_scale(rated), formulas.set_scale(unrated)
        predicted += terms(code, residual, influence, explicit, implicit)
    error = batch.values[t] - predicted
    if size:
        rate = formulas.row_rate(rates.influence, rates.factor_gain, p_extra[SQUARES])
        told, silent = explicit * error, implicit * error
        _learn_influence(batch.codes[t], residual, parameters.influence[row], told, silent, rate, rates.influence_decay)
    own_rate = formulas.row_rate(rates.factor, rates.factor_gain, p_extra[SQUARES])
    other_rate = formulas.row_rate(rates.factor, rates.factor_gain, q_extra[SQUARES])
    _learn_factors(p, q, n, error, own_rate, other_rate, rates.factor_decay)
    _learn_extra(p_extra, error, rates)
    _learn_extra(q_extra, error, rates)


@njit
def _walk(row, first, length, shift, batch, parameters, rates):
    """One chunk: consecutive ratings of one major row, visited from `shift` on, around."""
    residual = np.empty(batch.codes.shape[1], np.float32)
    for step in range(length):
        turned = step + shift if step + shift < length else step + shift - length
        _learn(first + turned, row, batch, parameters, rates, residual)


@njit(parallel=True)
def sgd_epoch(chunks, batch, parameters, rates, turn, workers):
    """Twin of kernels.sgd_epoch."""
    for worker in prange(workers):
        for c in range(worker, chunks.shape[0], workers):
            row, first, length = chunks[c, 0], chunks[c, 1], chunks[c, 2]
            if length > 0:
                _walk(row, first, length, below(turn, c, length), batch, parameters, rates)
