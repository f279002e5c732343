"""CPU twins of the kernels of the thresholding: the same names and arguments, a slice a thread."""

import math

import numpy as np

from gpukit._jit import njit, prange
from gpukit.svt import formulas
from gpukit.svt.formulas import binary_scale, reflection, tolerances, weight


@njit
def _stage(X, wide, B):
    """B (q, p) = a slice or its transpose, whichever is tall, times the power of two that is returned."""
    largest = X[0, 0] - X[0, 0]
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
    for i in range(B.shape[0]):
        for j in range(B.shape[1]):
            total[j] += B[i, 0] * B[i, j]


@njit
def _pass(B, k, w, v, factor, total):
    """Both reflections of step k on the rows below k, and total = column k + 1's products with all columns of them."""
    p = B.shape[1]
    total[k + 1 :] = 0
    for i in range(k + 1, B.shape[0]):
        x, share = B[i, k], factor - factor
        for j in range(k + 1, p):
            B[i, j] -= x * w[j]
            share += B[i, j] * v[j]
        z = share * factor
        for j in range(k + 1, p):
            B[i, j] -= z * v[j]
        first = B[i, k + 1]
        for j in range(k + 1, p):
            total[j] += first * B[i, j]


@njit
def _bidiagonalize_slice(B, d, e, reflections, w, v, total):
    """B (q, p) -> its bidiagonal d (p,), e (p + 1,), and the reflections (p, p) of its rows: row k has that of step
    k."""
    p = B.shape[1]
    _squares(B, total)
    e[0] = 0
    for k in range(p):
        alpha, factor = reflection(B[k, k], total[k])
        d[k], e[k + 1] = alpha, factor - factor
        for j in range(k + 1, p):
            w[j] = (total[j] - alpha * B[k, j]) * factor
        rest, own = factor - factor, B[k, k] - alpha
        for j in range(k + 1, p):
            v[j] = B[k, j] - own * w[j]
            rest += v[j] * v[j]
        reflections[k, :] = 0
        if k + 1 < p:
            if k + 2 < p:
                e[k + 1], factor = reflection(v[k + 1], rest)
                v[k + 1] -= e[k + 1]
            else:
                e[k + 1], factor = v[k + 1], rest - rest
                v[k + 1] = factor
            size = math.sqrt(factor)
            for j in range(k + 1, p):
                reflections[k, j] = v[j] * size
            _pass(B, k, w, v, factor, total)


@njit
def _multiplied(reflections):
    """reflections (p, p), row k the u of I - u u', becomes the product of all of these, last to first."""
    p = len(reflections)
    u = np.empty(p, reflections.dtype)
    for k in range(p - 1, -1, -1):
        u[:] = reflections[k]
        reflections[k] = 0
        reflections[k, k] = 1
        for j in range(k + 1, p if k + 2 < p else k + 1):
            share = u[0] - u[0]
            for i in range(k + 1, p):
                share += reflections[j, i] * u[i]
            for i in range(k + 1, p):
                reflections[j, i] -= share * u[i]


@njit(parallel=True)
def bidiagonalize(X, d, e, scales, states, V):
    """Twin of kernels.bidiagonalize."""
    wide, p, q = X.shape[1] < X.shape[2], min(X.shape[1:]), max(X.shape[1:])
    for k in prange(len(X)):
        B, w, v, total = np.empty((q, p), X.dtype), np.empty(p, X.dtype), np.empty(p, X.dtype), np.empty(p, X.dtype)
        scales[k] = _stage(X[k], wide, B)
        _bidiagonalize_slice(B, d[:, k], e[:, k], V[k], w, v, total)
        _multiplied(V[k])
        states[k, 0], states[k, 1], states[k, 2] = 0, p - 1, 0


@njit(parallel=True)
def chase(d, e, states, spans, turns):
    """Twin of kernels.chase."""
    share = d.dtype.type(tolerances(d.itemsize)[0])
    for k in prange(len(states)):
        largest = abs(d[0, k])
        for j in range(len(d)):
            largest = max(largest, abs(d[j, k]), abs(e[j, k]))
        formulas.chase(d[:, k], e[:, k], share * largest, states[k], spans[k], turns[k])


@njit
def _turn(V, turns, lo):
    """A sweep's rotations, from row lo on."""
    for number in range(len(turns)):
        c, s, j = turns[number, 0], turns[number, 1], lo + number
        for i in range(len(V)):
            x, y = V[j, i], V[j + 1, i]
            V[j, i], V[j + 1, i] = c * x + s * y, c * y - s * x


@njit(parallel=True)
def rotate(states, spans, turns, V):
    """Twin of kernels.rotate."""
    for k in prange(len(V)):
        at = 0
        for number in range(states[k, 2]):
            lo, hi = spans[k, number] & 0xFFFF, spans[k, number] >> 16
            _turn(V[k], turns[k, at : at + hi - lo], lo)
            at += hi - lo


@njit(parallel=True)
def arrange(d, scales, lam, cap, seats, weights, ranks, values):
    """Twin of kernels.arrange."""
    p, share = len(d), d.dtype.type(tolerances(d.itemsize)[1])
    for k in prange(len(lam)):
        order = np.argsort(-np.abs(d[:, k]), kind="mergesort")  # ties go by place
        bound = max(lam[k] * scales[k], share * abs(d[order[0], k]))
        kept = 0
        for seat in range(p):
            sigma = abs(d[order[seat], k])
            seats[k, seat] = order[seat]
            kept += seat < cap[k] and sigma > bound
            weights[k, seat] = weight(sigma, lam[k] * scales[k]) if seat < kept else sigma - sigma
            if values.shape[1] > 0:
                values[k, seat] = sigma / scales[k]
        ranks[k] = kept


@njit(parallel=True)
def multiply(X, V, seats, weights, ranks, out):
    """Twin of kernels.multiply."""
    wide, p, q = X.shape[1] < X.shape[2], min(X.shape[1:]), max(X.shape[1:])
    for k in prange(len(X)):
        row, total = np.empty(p, X.dtype), np.empty(p, X.dtype)
        for i in range(q):
            for j in range(p):
                row[j] = X[k, j, i] if wide else X[k, i, j]
            total[:] = 0
            for seat in range(ranks[k]):
                u = V[k, seats[k, seat]]
                share = total[0] - total[0]
                for j in range(p):
                    share += row[j] * u[j]
                share *= weights[k, seat]
                for j in range(p):
                    total[j] += share * u[j]
            for j in range(p):
                if wide:
                    out[k, j, i] = total[j]
                else:
                    out[k, i, j] = total[j]
