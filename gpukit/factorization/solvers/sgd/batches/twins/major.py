"""Twin of kernels/major.py."""

import numpy as np

from gpukit._jit import copy_row, njit
from gpukit.factorization.model.layout import BASE, BIAS, EXTRA, SQUARES
from gpukit.factorization.solvers.sgd import formulas
from gpukit.factorization.solvers.sgd.batches.twins.team import add, learn
from gpukit.factorization.solvers.sgd.formulas import F32, ZERO
from gpukit.factorization.twins.influence import residuals, terms
from gpukit.factorization.twins.rows import dot
from gpukit.scheduler import by_block


@njit
def _add_influence(change, own, signal, there, error, rate, decay):
    """change += Eq. (5) for w or c of one rating; see sgd.twins."""
    for k in range(own.size):
        change[k] += there[k] * formulas.influence_change(own[k], error * signal[k], rate, decay)


@njit(inline="always")
def _walk(chunk, minor, values, codes, levels, P, Q, influence, offsets, rates, seen):
    """Process one chunk."""
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
    minor, values, codes, levels = batch
    P, Q, influence, offsets = parameters
    for c in range(start, stop):
        _walk(chunks[c], minor, values, codes, levels, P, Q, influence, offsets, rates, seen)
