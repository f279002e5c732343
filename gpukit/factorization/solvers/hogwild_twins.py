"""CPU twins of hogwild_kernels.py."""

import numpy as np

from gpukit._jit import njit
from gpukit.factorization.model.layout import BIAS, EXTRA
from gpukit.factorization.prepare.formulas import half_width
from gpukit.factorization.solvers.sgd import formulas
from gpukit.factorization.solvers.sgd.twins import learn_factors
from gpukit.factorization.twins import dot
from gpukit.random import shuffle_index
from gpukit.scheduler import by_block

U32 = np.uint32


@by_block(lambda starts: starts.size - 1)
def scatter_ratings(start, stop, starts, minor, values, seed_key, samples):
    """Twin of hogwild_kernels.scatter_ratings."""
    half, n = half_width(minor.size), U32(minor.size)
    major, others, z = samples.major, samples.minor, samples.values
    for row in range(start, stop):
        for t in range(starts[row], starts[row + 1]):
            target = shuffle_index(seed_key, U32(t), half, n)
            major[target], others[target], z[target] = row, minor[t], values[t]


@njit
def _walk(first, last, samples, own, other, rates):
    """Process one batch."""
    n = own.shape[1] - EXTRA
    column = n + BIAS
    for t in range(first, last):
        u, v = samples.major[t], samples.minor[t]
        p, q, b, c = own[u], other[v], own[u, column], other[v, column]
        error = samples.values[t] - (dot(p, q, n) + b + c)
        learn_factors(p, q, n, error, rates.factor, rates.factor, rates.factor_decay)
        own[u, column] = b + formulas.bias_change(b, error, rates.bias, rates.bias_decay)
        other[v, column] = c + formulas.bias_change(c, error, rates.bias, rates.bias_decay)


@by_block(lambda workers: workers, heavy=True)
def hogwild_epoch(start, stop, samples, own, other, rates, batch, turn, workers):
    """Twin of hogwild_kernels.hogwild_epoch; steps are stored, since few threads seldom share a row."""
    n = samples.values.size
    batches = -(-n // batch)
    half = half_width(batches)
    for worker in range(start, stop):
        for place in range(worker, batches, workers):
            begin = np.int64(shuffle_index(turn, U32(place), half, U32(batches))) * batch
            _walk(begin, min(n, begin + batch), samples, own, other, rates)
