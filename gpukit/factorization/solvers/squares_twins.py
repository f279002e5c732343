"""CPU twins of kernels.py."""

import math

import numpy as np

from gpukit._jit import copy_row, njit
from gpukit.factorization.model.layout import BIAS, EXTRA
from gpukit.factorization.solvers.squares_formulas import F32, ONE, ZERO, inverse_pivot, weight_at
from gpukit.scheduler import by_block

TOGETHER = 8  # rows added at once


@njit
def _stage(first, count, data, table, biased, stage):
    """Load the extended rows (v, 1, z - b) of some ratings, times the roots of their weights; zeros after them."""
    minor, values, weights = data
    n = table.shape[1] - EXTRA
    for t in range(count):
        other, target = table[minor[first + t]], stage[t]
        root = F32(math.sqrt(weights[min(first + t, weights.size - 1)]))
        for f in range(n):
            target[f] = root * other[f]
        target[n] = root if biased else ZERO
        target[n + 1] = root * (values[min(first + t, values.size - 1)] - other[n + BIAS])
    stage[count:] = ZERO


@njit
def add_products(rows, begin, first, sign, gram):
    """gram += sign times the products of TOGETHER rows from `begin` on, in its lower half from column `first` on.

    Lines are sliced to begin at 0, so that the compiler knows that indices are not negative, and vectorizes.
    """
    p, q, r, s = rows[begin][first:], rows[begin + 1][first:], rows[begin + 2][first:], rows[begin + 3][first:]
    t, u, v, w = rows[begin + 4][first:], rows[begin + 5][first:], rows[begin + 6][first:], rows[begin + 7][first:]
    for a in range(gram.shape[0] - first):
        i, j, k, l = sign * p[a], sign * q[a], sign * r[a], sign * s[a]
        m, n, o, x = sign * t[a], sign * u[a], sign * v[a], sign * w[a]
        line = gram[first + a][first:]
        for b in range(a + 1):
            line[b] += i * p[b] + j * q[b] + k * r[b] + l * s[b] + m * t[b] + n * u[b] + o * v[b] + x * w[b]


@by_block(lambda pieces: pieces.shape[0])
def gram_of_pieces(start, stop, pieces, minor, values, weights, table, biased, grams):
    """Twin of kernels.gram_of_pieces."""
    staged = 16  # ratings copied to the cache
    for piece in range(start, stop):
        first, length = pieces[piece, 1], pieces[piece, 2]
        stage = np.empty((staged, grams.shape[1]), np.float32)
        gram = grams[piece]
        gram[:] = ZERO
        for done in range(0, length, staged):
            _stage(first + done, min(staged, length - done), (minor, values, weights), table, biased, stage)
            for row in range(0, staged, TOGETHER):
                add_products(stage, row, 0, ONE, gram)


def sum_of_grams(grams, out):
    """Twin of kernels.sum_of_grams, in the same order."""
    np.sum(grams, axis=0, out=out[0])


def as_matrix(gram, matrix):
    """Twin of kernels.as_matrix."""
    n = min(len(matrix), gram.shape[1] - 2)
    lower = np.tril(gram[0, :n, :n])
    matrix[:] = ZERO
    matrix[:n, :n] = lower + np.tril(lower, -1).T


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
    """Twin of kernels.solve_by_cholesky."""
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
