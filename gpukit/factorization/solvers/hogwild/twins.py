"""CPU twins of kernels.py."""

import numpy as np

from gpukit._jit import njit
from gpukit.factorization.model.layout import BIAS, EXTRA
from gpukit.factorization.prepare.formulas import half_width
from gpukit.factorization.solvers.sgd import formulas
from gpukit.factorization.twins import dot
from gpukit.random import shuffled
from gpukit.scheduler import by_block

U32 = np.uint32


@by_block(lambda starts: starts.size - 1)
def scatter_ratings(start, stop, starts, minor, values, seed_key, samples):
    """Twin of kernels.scatter_ratings."""
    half, n = half_width(minor.size), U32(minor.size)
    major, others, z = samples.major, samples.minor, samples.values
    for row in range(start, stop):
        for t in range(starts[row], starts[row + 1]):
            there = shuffled(seed_key, U32(t), half, n)
            major[there], others[there], z[there] = row, minor[t], values[t]


@njit
def _learn(p, q, n, error, rate, decay):
    """Apply Eq. (5) to both factor rows, each from the other's old value."""
    for f in range(n):
        u, v = p[f], q[f]
        p[f] = u + formulas.factor_change(u, v, error, rate, decay)
        q[f] = v + formulas.factor_change(v, u, error, rate, decay)


@njit
def _walk(first, last, samples, own, other, rates):
    """Process one batch; rates: of factors, of biases, lambda."""
    rate, bias_rate, decay = rates
    n = own.shape[1] - EXTRA
    at = n + BIAS
    for t in range(first, last):
        u, v = samples.major[t], samples.minor[t]
        p, q, b, c = own[u], other[v], own[u, at], other[v, at]
        error = samples.values[t] - (dot(p, q, n) + b + c)
        _learn(p, q, n, error, rate, decay)
        own[u, at] = b + formulas.bias_change(b, error, bias_rate, decay)
        other[v, at] = c + formulas.bias_change(c, error, bias_rate, decay)


@by_block(lambda workers: workers, heavy=True)
def hogwild_epoch(start, stop, samples, own, other, rate, bias_rate, decay, batch, turn, workers):
    """Twin of kernels.hogwild_epoch; steps are stored, since few threads seldom share a row."""
    n = samples.values.size
    batches = -(-n // batch)
    half = half_width(batches)
    for worker in range(start, stop):
        for place in range(worker, batches, workers):
            begin = np.int64(shuffled(turn, U32(place), half, U32(batches))) * batch
            _walk(begin, min(n, begin + batch), samples, own, other, (rate, bias_rate, decay))
