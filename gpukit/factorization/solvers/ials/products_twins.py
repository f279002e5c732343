"""CPU twin of products_kernels.py."""

import numpy as np

from gpukit._jit import copy_row, njit
from gpukit.factorization.solvers.squares.formulas import ZERO
from gpukit.scheduler import by_block


@njit
def _coefficient(dot, goal, weights, t, end):
    """Return w (u v - goal) of click t; 0 after the end of a piece."""
    return weights[min(t, weights.size - 1)] * (dot - goal) if t < end else ZERO


@njit
def _add_four(table, a, b, c, d, way, factors, total):
    """Add four rows to `total`, weighted by the coefficients of their dot products with a direction.

    Rows are read in place: views with thread-safe reference counts would cost a quarter of the time.
    """
    i, j, k, m = ZERO, ZERO, ZERO, ZERO
    for f in range(way.size):
        i += table[a, f] * way[f]
        j += table[b, f] * way[f]
        k += table[c, f] * way[f]
        m += table[d, f] * way[f]
    goal, weights, t, end = factors
    i, j = _coefficient(i, goal, weights, t, end), _coefficient(j, goal, weights, t + 1, end)
    k, m = _coefficient(k, goal, weights, t + 2, end), _coefficient(m, goal, weights, t + 3, end)
    for f in range(way.size):
        total[f] += i * table[a, f] + j * table[b, f] + k * table[c, f] + m * table[d, f]


@by_block(lambda pieces: pieces.shape[0])
def products_of_pieces(start, stop, pieces, minor, weights, goal, ways, table, sums):
    """Twin of kernels.products.products_of_pieces."""
    width = sums.shape[1]
    for piece in range(start, stop):
        row, first = pieces[piece, 0], pieces[piece, 1]
        end, total = first + pieces[piece, 2], np.zeros(width, np.float32)
        way, last = ways[row, :width].copy(), end - 1
        for t in range(first, end, 4):
            a, b = np.uint64(minor[t]), np.uint64(minor[min(t + 1, last)])
            c, d = np.uint64(minor[min(t + 2, last)]), np.uint64(minor[min(t + 3, last)])
            _add_four(table, a, b, c, d, way, (goal, weights, t, end), total)
        copy_row(total, sums[piece])
