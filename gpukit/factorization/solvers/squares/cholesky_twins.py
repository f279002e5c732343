"""CPU twin of cholesky_kernels.py."""

import numpy as np

from gpukit._jit import copy_row, njit
from gpukit.factorization.model.layout import BIAS
from gpukit.factorization.solvers.squares.formulas import ONE, ZERO, inverse_pivot, weight_at
from gpukit.factorization.solvers.squares.gram_twins import TOGETHER, add_products
from gpukit.scheduler import by_block


@njit
def sum_matrices(owner, grams, shared, decay, damping, out):
    """out = lower half of a row's Gram matrix: all its pieces, the shared matrices, and the weights on the diagonal."""
    first, n = owner[1], out.shape[0] - 2
    for f in range(n + 2):
        copy_row(grams[first, f], out[f])
    for piece in range(first + 1, first + owner[2]):
        out += grams[piece]
    for part in range(shared.shape[0]):
        out += shared[part]
    for f in range(n + 1):
        out[f, f] += weight_at(f, n, decay, damping)


@njit
def _factor(gram, squares, inverses):
    """Replace gram's lower half by its Cholesky factor, TOGETHER columns at once; the last row is solved forwards."""
    width = gram.shape[0]
    columns = np.zeros((TOGETHER, width), np.float32)
    for first in range(0, width - 1, TOGETHER):
        end = min(first + TOGETHER, width - 1)
        for c in range(end - first, TOGETHER):
            columns[c] = ZERO
        for i in range(first, width):
            for c in range(first, end):
                columns[c - first, i] = gram[i, c]
        _factor_columns(columns, first, end, squares, inverses)
        for i in range(first, width):
            for c in range(first, min(end, i + 1)):
                gram[i, c] = columns[c - first, i]
        if end < width:
            add_products(columns, 0, end, -ONE, gram)


@njit
def _factor_columns(columns, first, end, squares, inverses):
    """Compute columns `first` to `end` of the factor, one per line; squares: the diagonal before any elimination."""
    for c in range(first, end):
        column = columns[c - first][c:]
        inverses[c] = inverse_pivot(column[0], squares[c])
        for i in range(column.size):
            column[i] *= inverses[c]
        for d in range(c + 1, end):
            factor, tail, other = column[d - c], column[d - c :], columns[d - first][d:]
            for i in range(tail.size):
                other[i] -= factor * tail[i]


@njit
def _solve_back(gram, inverses, out):
    """out = the unknowns, from a factor whose last row is the right-hand side."""
    size = gram.shape[0] - 1
    copy_row(gram[size, :size], out)
    for done in range(size):
        j = size - 1 - done
        out[j] *= inverses[j]
        line, result = gram[j], out[j]
        for i in range(j):
            out[i] -= line[i] * result


@by_block(lambda owners: owners.shape[0])
def solve_by_cholesky(start, stop, owners, grams, shared, decays, damping, table):
    """Twin of kernels.cholesky.solve_by_cholesky."""
    width = grams.shape[1]
    for owner in range(start, stop):
        gram, result = np.empty((width, width), np.float32), np.empty(width - 1, np.float32)
        squares, inverses = np.empty(width, np.float32), np.empty(width - 1, np.float32)
        sum_matrices(owners[owner], grams, shared, decays[owner], damping, gram)
        for f in range(width):
            squares[f] = gram[f, f]
        _factor(gram, squares, inverses)
        _solve_back(gram, inverses, result)
        row = owners[owner, 0]
        for f in range(width - 2):
            table[row, f] = result[f]
        table[row, width - 2 + BIAS] = result[width - 2]
