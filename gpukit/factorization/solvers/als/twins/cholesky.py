"""CPU twin of kernels/cholesky.py."""

import numpy as np

from gpukit._jit import njit, prange
from gpukit.factorization.model.layout import BIAS
from gpukit.factorization.solvers.als.formulas import inverse_pivot, weight_at, weighted


@njit
def summed(owner, grams, decay, damping, out):
    """out = a row's Gram matrix of all its pieces, weights on its diagonal; its lower half."""
    first, n = owner[1], out.shape[0] - 2
    out[:] = grams[first]
    for piece in range(first + 1, first + owner[2]):
        out += grams[piece]
    for f in range(n + 1):
        out[f, f] += weight_at(f, n, weighted(decay, owner[3]), damping)


@njit
def _factor(gram, inverses):
    """Cholesky's factor in the place of gram's lower half; the last row becomes the solution of its forward half."""
    width = gram.shape[0]
    for j in range(width - 1):
        square = gram[j, j]
        for i in range(j, width):
            total = gram[i, j]
            for k in range(j):
                total -= gram[i, k] * gram[j, k]
            if i == j:
                inverses[j] = inverse_pivot(total, square)
            gram[i, j] = total * inverses[j]


@njit
def _solve_back(gram, inverses, out):
    """out = the unknowns, from a factor whose last row is the right-hand side."""
    size = gram.shape[0] - 1
    out[:] = gram[size, :size]
    for done in range(size):
        j = size - 1 - done
        out[j] *= inverses[j]
        for i in range(j):
            out[i] -= gram[j, i] * out[j]


@njit(parallel=True)
def solve_by_cholesky(owners, grams, decay, damping, table):
    """Twin of kernels.cholesky.solve_by_cholesky."""
    width = grams.shape[1]
    for owner in prange(owners.shape[0]):
        gram, found = np.empty((width, width), np.float32), np.empty(width - 1, np.float32)
        inverses = np.empty(width - 1, np.float32)
        summed(owners[owner], grams, decay, damping, gram)
        _factor(gram, inverses)
        _solve_back(gram, inverses, found)
        row = owners[owner, 0]
        for f in range(width - 2):
            table[row, f] = found[f]
        table[row, width - 2 + BIAS] = found[width - 2]
