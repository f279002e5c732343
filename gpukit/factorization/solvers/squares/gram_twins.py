"""CPU twin of gram_kernels.py."""

import math

import numpy as np

from gpukit._jit import njit
from gpukit.factorization.model.layout import BIAS, EXTRA
from gpukit.factorization.solvers.squares.formulas import F32, ONE, ZERO
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
    """Twin of kernels.gram.gram_of_pieces."""
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
