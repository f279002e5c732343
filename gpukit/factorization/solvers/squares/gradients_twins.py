"""CPU twin of gradients_kernels.py."""

import numpy as np

from gpukit._jit import njit
from gpukit.factorization.model.layout import BIAS
from gpukit.factorization.solvers.squares.cholesky_twins import summed
from gpukit.factorization.solvers.squares.formulas import ONE, ZERO, quotient
from gpukit.scheduler import by_block


@njit
def _times(gram, x, out):
    """out = symmetric matrix in gram's lower half, without its last row, times x."""
    size = x.size
    out[:] = ZERO
    for i in range(size):
        total, own = ZERO, x[i]
        for j in range(i):
            total += gram[i, j] * x[j]
            out[j] += gram[i, j] * own
        out[i] += total + gram[i, i] * own


@njit
def _dot(x, scale, y):
    """Return the sum of x scale y."""
    total = ZERO
    for i in range(x.size):
        total += x[i] * scale[i] * y[i]
    return total


@njit
def _descend(gram, steps, tolerance, x):
    """Improve x by conjugate gradients, preconditioned by the diagonal."""
    size = x.size
    target, scale = gram[size, :size], np.empty(size, np.float32)
    for i in range(size):
        scale[i] = quotient(ONE, gram[i, i])
    product = np.empty(size, np.float32)
    _times(gram, x, product)
    left = target - product
    way = scale * left
    rest, least = _dot(left, scale, left), tolerance * tolerance * _dot(target, scale, target)
    for _ in range(steps):
        if rest <= least:
            break
        _times(gram, way, product)
        total = ZERO
        for i in range(size):
            total += way[i] * product[i]
        step = quotient(rest, total)
        for i in range(size):
            x[i] += step * way[i]
            left[i] -= step * product[i]
        before, rest = rest, _dot(left, scale, left)
        turn = quotient(rest, before)
        for i in range(size):
            way[i] = scale[i] * left[i] + turn * way[i]


@by_block(lambda owners: owners.shape[0])
def solve_by_gradients(start, stop, owners, grams, shared, decays, damping, steps, tolerance, table):
    """Twin of kernels.gradients.solve_by_gradients."""
    width = grams.shape[1]
    for owner in range(start, stop):
        gram, found = np.empty((width, width), np.float32), np.empty(width - 1, np.float32)
        row = owners[owner, 0]
        summed(owners[owner], grams, shared, decays[owner], damping, gram)
        for f in range(width - 2):
            found[f] = table[row, f]
        found[width - 2] = table[row, width - 2 + BIAS]
        _descend(gram, steps, tolerance, found)
        for f in range(width - 2):
            table[row, f] = found[f]
        table[row, width - 2 + BIAS] = found[width - 2]
