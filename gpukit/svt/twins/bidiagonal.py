"""CPU twin of kernels/bidiagonal.py: the same name and arguments, a slice a thread.

Inner loops run from 0 over parts of rows: only then does the compiler know that no index is negative, and vectorizes.
Source of the initial triangularization: Chan, ACM Trans. Math. Softw. 8 (1982), 72-83, an improved algorithm.
"""

import math

import numpy as np

from gpukit._jit import njit
from gpukit.scheduler import by_block
from gpukit.svt.formulas import ZERO, binary_scale, reflection


@njit
def _stage(X, turned, B):
    """Load a slice or its transpose into B's first rows, scaled.

    Returns the scale, a power of two. Other rows are 0.
    """
    largest = abs(X[0, 0])
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            largest = max(largest, abs(X[i, j]))
    scale = binary_scale(largest)
    rows = X.shape[1] if turned else X.shape[0]
    for i in range(rows):
        for j in range(B.shape[1]):
            B[i, j] = (X[j, i] if turned else X[i, j]) * scale
    B[rows:] = 0
    return scale


@njit
def _triangle(A, R):
    """Compute the triangle R (p + 1, p) of A' (q, p).

    A' = Q R; A (p, q) is overwritten. The last row of R is 0.
    """
    for k in range(len(A)):
        x, square = A[k, k:], ZERO
        for i in range(len(x)):
            square += x[i] * x[i]
        alpha, factor = reflection(x[0], square)
        x[0] -= alpha
        R[k, :k], R[k, k] = 0, alpha
        for j in range(k + 1, len(A)):
            y, share = A[j, k:], ZERO
            for i in range(len(x)):
                share += x[i] * y[i]
            share *= factor
            for i in range(len(x)):
                y[i] -= share * x[i]
            R[k, j] = y[0]
    R[len(A)] = 0


@njit
def _squares(B, total):
    """Compute the first column's products with every column."""
    total[:] = 0
    for i in range(len(B)):
        row = B[i]
        first = row[0]
        for j in range(len(row)):
            total[j] += first * row[j]


@njit
def _pass(B, k, w, v, factor, total):
    """Apply both reflections of step k to the rows below k; total = column k + 1's products with their columns.

    Two rows at a time read w, v and total once. The row of zeros at B's end is unchanged.
    """
    w, v, total = w[k + 1 :], v[k + 1 :], total[k + 1 :]
    total[:] = 0
    for i in range(k + 1, len(B) - 1, 2):
        x, y, above, below = B[i, k], B[i + 1, k], B[i, k + 1 :], B[i + 1, k + 1 :]
        share, share_below = ZERO, ZERO
        for j in range(len(v)):
            above[j] -= x * w[j]
            share += above[j] * v[j]
            below[j] -= y * w[j]
            share_below += below[j] * v[j]
        share *= factor
        share_below *= factor
        for j in range(len(v)):
            above[j] -= share * v[j]
            below[j] -= share_below * v[j]
        first, first_below = above[0], below[0]
        for j in range(len(v)):
            total[j] += first * above[j] + first_below * below[j]


@njit
def _bidiagonalize_slice(B, d, e, reflections, w, v, total):
    """Reduce B to d, e and row reflections.

    B (q + 1, p), whose last row is 0; d (p,); e (p + 1,); reflections (p, p). Row k of reflections belongs to step k.
    """
    p = B.shape[1]
    _squares(B, total)
    e[0] = 0
    for k in range(p):
        alpha, factor = reflection(B[k, k], total[k])
        d[k], e[k + 1] = alpha, ZERO
        for j in range(k + 1, p):
            w[j] = (total[j] - alpha * B[k, j]) * factor
        rest, pivot = ZERO, B[k, k] - alpha
        for j in range(k + 1, p):
            v[j] = B[k, j] - pivot * w[j]
        for j in range(k + 1, p):  # a loop of its own: together, the order of the sum would depend on addresses
            rest += v[j] * v[j]
        reflections[k, :] = 0
        if k + 1 < p:
            if k + 2 < p:
                e[k + 1], factor = reflection(v[k + 1], rest)
                v[k + 1] -= e[k + 1]
            else:
                e[k + 1], factor = v[k + 1], ZERO
                v[k + 1] = factor
            size = math.sqrt(factor)
            for j in range(k + 1, p):
                reflections[k, j] = v[j] * size
            _pass(B, k, w, v, factor, total)


@njit
def _multiply_reflections(reflections):
    """Replace reflections by the product of all of them.

    Row k of reflections (p, p) is the u of I - u u'; the product is last to first.
    """
    p = len(reflections)
    for k in range(p - 1, -1, -1):
        u = reflections[k, k + 1 :].copy()
        reflections[k] = 0
        reflections[k, k] = 1
        for j in range(k + 1, p if k + 2 < p else k + 1):
            row = reflections[j, k + 1 :]
            share = ZERO
            for i in range(len(row)):
                share += row[i] * u[i]
            for i in range(len(row)):
                row[i] -= share * u[i]


@njit
def _load_tall(X, B):
    """Load the tall slice, or its triangle, into B; return the power of two that scales it.

    The last row of B is 0.
    """
    wide, p, q = X.shape[0] < X.shape[1], min(X.shape), max(X.shape)
    if len(B) == q + 1:
        return _stage(X, wide, B)
    A = np.empty((p, q), X.dtype)
    scale = _stage(X, not wide, A)
    _triangle(A, B)
    return scale


@njit
def _rows_of(p, q):
    """Return rows of B: p if the slice is reduced to a triangle first, in passes along its longer side."""
    return p if q >= 2 * p else q


@by_block(lambda X: len(X))
def bidiagonalize(start, stop, X, d, e, scales, states, V):
    """Twin of kernels.bidiagonal.bidiagonalize."""
    p, q = min(X.shape[1:]), max(X.shape[1:])
    for k in range(start, stop):
        B, w = np.empty((_rows_of(p, q) + 1, p), X.dtype), np.empty(p, X.dtype)
        v, total = np.empty(p, X.dtype), np.empty(p, X.dtype)
        scales[k] = _load_tall(X[k], B)
        _bidiagonalize_slice(B, d[:, k], e[:, k], V[k], w, v, total)
        _multiply_reflections(V[k])
        states[k, 0], states[k, 1], states[k, 2] = 0, p - 1, 0
