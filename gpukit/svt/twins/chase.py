"""CPU twins of the thresholding's kernels after twins/bidiagonal.py: the same names and arguments, a slice a thread."""

import numpy as np

from gpukit._jit import njit, prange
from gpukit.svt import formulas
from gpukit.svt.formulas import ZERO, tolerances, weight


@njit(parallel=True)
def chase(d, e, states, spans, turns):
    """Twin of kernels.chase.chase."""
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
    """Twin of kernels.chase.rotate."""
    for k in prange(len(V)):
        at = 0
        for number in range(states[k, 2]):
            lo, hi = spans[k, number] & 0xFFFF, spans[k, number] >> 16
            _turn(V[k], turns[k, at : at + hi - lo], lo)
            at += hi - lo


@njit(parallel=True)
def arrange(d, states, scales, lam, cap, seats, weights, ranks, values):
    """Twin of kernels.chase.arrange."""
    p, share = len(d), d.dtype.type(tolerances(d.itemsize)[1])
    for k in prange(len(lam)):
        order = np.argsort(-np.abs(d[:, k]), kind="mergesort")  # ties go by place
        bound = max(lam[k] * scales[k], share * abs(d[order[0], k]))
        kept = 0
        for seat in range(p):
            sigma = abs(d[order[seat], k])
            seats[k, seat] = order[seat]
            kept += seat < cap[k] and sigma > bound
            weights[k, seat] = weight(sigma, lam[k] * scales[k]) if seat < kept else ZERO
            if values.shape[1] > 0:
                values[k, seat] = sigma / scales[k]
        ranks[k] = kept if states[k, 1] == 0 else -1


@njit(parallel=True)
def multiply(X, V, seats, weights, ranks, out):
    """Twin of kernels.chase.multiply."""
    wide, p, q = X.shape[1] < X.shape[2], min(X.shape[1:]), max(X.shape[1:])
    for k in prange(len(X)):
        row, total = np.empty(p, X.dtype), np.empty(p, X.dtype)
        for i in range(q):
            for j in range(p):
                row[j] = X[k, j, i] if wide else X[k, i, j]
            total[:] = 0
            for seat in range(ranks[k]):
                u = V[k, seats[k, seat]]
                share = ZERO
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
