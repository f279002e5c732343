"""CPU twin of kernels/bidiagonal.py: the same name and arguments, a slice a thread.

Inner loops run from 0 over parts of rows: only then does the compiler know that no index is negative, and vectorizes.
"""

import math

import numpy as np

from gpukit._jit import njit, prange
from gpukit.svt.formulas import ZERO, binary_scale, reflection


@njit
def _stage(X, wide, B):
    """B (q, p) = a slice or its transpose, whichever is tall, times the power of two that is returned."""
    largest = abs(X[0, 0])
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            largest = max(largest, abs(X[i, j]))
    scale = binary_scale(largest)
    for i in range(B.shape[0]):
        for j in range(B.shape[1]):
            B[i, j] = (X[j, i] if wide else X[i, j]) * scale
    return scale


@njit
def _squares(B, total):
    """total = the first column's products with every column."""
    total[:] = 0
    for i in range(len(B)):
        row = B[i]
        first = row[0]
        for j in range(len(row)):
            total[j] += first * row[j]


@njit
def _pass(B, k, w, v, factor, total):
    """Both reflections of step k on the rows below k, and total = column k + 1's products with all columns of them."""
    w, v, total = w[k + 1 :], v[k + 1 :], total[k + 1 :]
    total[:] = 0
    for i in range(k + 1, B.shape[0]):
        row, x, share = B[i, k + 1 :], B[i, k], ZERO
        for j in range(len(row)):
            row[j] -= x * w[j]
            share += row[j] * v[j]
        z = share * factor
        for j in range(len(row)):
            row[j] -= z * v[j]
        first = row[0]
        for j in range(len(row)):
            total[j] += first * row[j]


@njit
def _bidiagonalize_slice(B, d, e, reflections, w, v, total):
    """B (q, p) -> its bidiagonal d (p,), e (p + 1,), and the reflections (p, p) of its rows: row k has that of step
    k."""
    p = B.shape[1]
    _squares(B, total)
    e[0] = 0
    for k in range(p):
        alpha, factor = reflection(B[k, k], total[k])
        d[k], e[k + 1] = alpha, ZERO
        for j in range(k + 1, p):
            w[j] = (total[j] - alpha * B[k, j]) * factor
        rest, own = ZERO, B[k, k] - alpha
        for j in range(k + 1, p):
            v[j] = B[k, j] - own * w[j]
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
def _multiplied(reflections):
    """reflections (p, p), row k the u of I - u u', becomes the product of all of these, last to first."""
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


@njit(parallel=True)
def bidiagonalize(X, d, e, scales, states, V):
    """Twin of kernels.bidiagonal.bidiagonalize."""
    wide, p, q = X.shape[1] < X.shape[2], min(X.shape[1:]), max(X.shape[1:])
    for k in prange(len(X)):
        B, w, v, total = np.empty((q, p), X.dtype), np.empty(p, X.dtype), np.empty(p, X.dtype), np.empty(p, X.dtype)
        scales[k] = _stage(X[k], wide, B)
        _bidiagonalize_slice(B, d[:, k], e[:, k], V[k], w, v, total)
        _multiplied(V[k])
        states[k, 0], states[k, 1], states[k, 2] = 0, p - 1, 0
