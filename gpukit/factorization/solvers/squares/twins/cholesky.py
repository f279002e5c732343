"""CPU twin of kernels/cholesky.py."""

import numpy as np

from gpukit._jit import njit, prange
from gpukit.factorization.model.layout import BIAS
from gpukit.factorization.solvers.squares.formulas import ONE, ZERO, inverse_pivot, weight_at
from gpukit.factorization.solvers.squares.twins.gram import TOGETHER, add_products


@njit
def summed(owner, grams, shared, decay, damping, out):
    """out = a row's Gram matrix of all its pieces and what all rows share, weights on its diagonal; its lower half."""
    first, n = owner[1], out.shape[0] - 2
    out[:] = grams[first]
    for piece in range(first + 1, first + owner[2]):
        out += grams[piece]
    for part in range(shared.shape[0]):
        out += shared[part]
    for f in range(n + 1):
        out[f, f] += weight_at(f, n, decay, damping)


@njit
def _factor(gram, squares, inverses):
    """Cholesky's factor in the place of gram's lower half, TOGETHER columns at once; the last row becomes the solution
    of its forward half."""
    width = gram.shape[0]
    panel = np.empty((TOGETHER, width), np.float32)
    for first in range(0, width - 1, TOGETHER):
        count, rows = min(TOGETHER, width - 1 - first), width - first
        columns = panel[:, :rows]
        columns[count:] = ZERO
        for i in range(rows):
            for c in range(count):
                columns[c, i] = gram[first + i, first + c]
        _factor_panel(columns, count, squares[first:], inverses[first:])
        for i in range(rows):
            for c in range(min(count, i + 1)):
                gram[first + i, first + c] = columns[c, i]
        if rows > count:
            add_products(columns[:, count:], -ONE, gram[first + count :, first + count :])


@njit
def _factor_panel(columns, count, squares, inverses):
    """The first `count` lines of columns, columns of a matrix, become those of its factor; squares: what stood on the
    diagonal before any elimination."""
    for c in range(count):
        own = columns[c, c:]
        inverses[c] = inverse_pivot(own[0], squares[c])
        for i in range(own.size):
            own[i] *= inverses[c]
        for d in range(c + 1, count):
            factor, tail, other = columns[c, d], columns[c, d:], columns[d, d:]
            for i in range(tail.size):
                other[i] -= factor * tail[i]


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
def solve_by_cholesky(owners, grams, shared, decays, damping, table):
    """Twin of kernels.cholesky.solve_by_cholesky."""
    width = grams.shape[1]
    for owner in prange(owners.shape[0]):
        gram, found = np.empty((width, width), np.float32), np.empty(width - 1, np.float32)
        squares, inverses = np.empty(width, np.float32), np.empty(width - 1, np.float32)
        summed(owners[owner], grams, shared, decays[owner], damping, gram)
        for f in range(width):
            squares[f] = gram[f, f]
        _factor(gram, squares, inverses)
        _solve_back(gram, inverses, found)
        row = owners[owner, 0]
        for f in range(width - 2):
            table[row, f] = found[f]
        table[row, width - 2 + BIAS] = found[width - 2]
