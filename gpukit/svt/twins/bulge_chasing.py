"""CPU twins of kernels/bulge_chasing.py: the same names and arguments, a slice a thread."""

import numpy as np

from gpukit._jit import njit
from gpukit.scheduler import by_block
from gpukit.svt import formulas
from gpukit.svt.formulas import ZERO, tolerances, weight


@by_block(lambda states: len(states))
def chase(start, stop, d, e, states, spans, turns):
    """Twin of kernels.bulge_chasing.chase."""
    share = d.dtype.type(tolerances(d.itemsize)[0])
    for k in range(start, stop):
        largest = abs(d[0, k])
        for j in range(len(d)):
            largest = max(largest, abs(d[j, k]), abs(e[j, k]))
        formulas.chase(d[:, k], e[:, k], share * largest, states[k], spans[k], turns[k])


@njit
def _turn(x, y, c, s):
    """Apply one rotation to two rows."""
    for i in range(len(x)):
        a, b = x[i], y[i]
        x[i], y[i] = c * a + s * b, c * b - s * a


@njit
def _turn_twice(x, y, z, first, second):
    """Rotate rows x and y, then y and z: y is read and written once."""
    c, s, C, S = first[0], first[1], second[0], second[1]
    for i in range(len(x)):
        a, b = x[i], y[i]
        x[i], b = c * a + s * b, c * b - s * a
        y[i], z[i] = C * b + S * z[i], C * z[i] - S * b


@njit
def _sweep(V, turns, lo):
    """Apply a sweep's rotations from row lo on."""
    number = 0
    while number + 1 < len(turns):
        j = lo + number
        _turn_twice(V[j], V[j + 1], V[j + 2], turns[number], turns[number + 1])
        number += 2
    if number < len(turns):
        _turn(V[lo + number], V[lo + number + 1], turns[number, 0], turns[number, 1])


@by_block(lambda V: len(V))
def rotate(start, stop, states, spans, turns, V):
    """Twin of kernels.bulge_chasing.rotate."""
    for k in range(start, stop):
        position = 0
        for number in range(states[k, 2]):
            lo, hi = spans[k, number] & 0xFFFF, spans[k, number] >> 16
            _sweep(V[k], turns[k, position : position + hi - lo], lo)
            position += hi - lo


@njit
def _order_of(values):
    """Return the positions of values by descending size, ties by position."""
    order = np.empty(len(values), np.int64)
    for i in range(len(values)):
        place = i
        while place > 0 and abs(values[order[place - 1]]) < abs(values[i]):
            order[place] = order[place - 1]
            place -= 1
        order[place] = i
    return order


@by_block(lambda lam: len(lam))
def arrange(start, stop, d, states, scales, lam, cap, seats, weights, ranks, values):
    """Twin of kernels.bulge_chasing.arrange."""
    p, share = len(d), d.dtype.type(tolerances(d.itemsize)[1])
    for k in range(start, stop):
        order = _order_of(d[:, k])
        bound = max(lam[k] * scales[k], share * abs(d[order[0], k]))
        rank = 0
        for seat in range(p):
            sigma = abs(d[order[seat], k])
            seats[k, seat] = order[seat]
            rank += seat < cap[k] and sigma > bound
            weights[k, seat] = weight(sigma, lam[k] * scales[k]) if seat < rank else ZERO
            if values.shape[1] > 0:
                values[k, seat] = sigma / scales[k]
        ranks[k] = rank if states[k, 1] == 0 else -1


@njit
def _apply(rows, V, seats, weights, rank, out):
    """Compute out (4, p) = four rows times V' diag(weights) V; a vector is read once for all of them."""
    a, b, c, d, A, B, C, D = rows[0], rows[1], rows[2], rows[3], out[0], out[1], out[2], out[3]
    out[:] = 0
    for seat in range(rank):
        u, weight_of = V[seats[seat]], weights[seat]
        share_a, share_b, share_c, share_d = ZERO, ZERO, ZERO, ZERO
        for j in range(len(u)):
            share_a += a[j] * u[j]
            share_b += b[j] * u[j]
            share_c += c[j] * u[j]
            share_d += d[j] * u[j]
        share_a, share_b = share_a * weight_of, share_b * weight_of
        share_c, share_d = share_c * weight_of, share_d * weight_of
        for j in range(len(u)):
            A[j] += share_a * u[j]
            B[j] += share_b * u[j]
            C[j] += share_c * u[j]
            D[j] += share_d * u[j]


@by_block(lambda X: len(X))
def multiply(start, stop, X, V, seats, weights, ranks, out):
    """Twin of kernels.bulge_chasing.multiply."""
    wide, p, q = X.shape[1] < X.shape[2], min(X.shape[1:]), max(X.shape[1:])
    for k in range(start, stop):
        rows, sums = np.zeros((4, p), X.dtype), np.empty((4, p), X.dtype)
        for i in range(0, q, 4):
            count = min(4, q - i)
            for row in range(count):
                for j in range(p):
                    rows[row, j] = X[k, j, i + row] if wide else X[k, i + row, j]
            _apply(rows, V[k], seats[k], weights[k], ranks[k], sums)
            for row in range(count):
                for j in range(p):
                    if wide:
                        out[k, j, i + row] = sums[row, j]
                    else:
                        out[k, i + row, j] = sums[row, j]


@by_block(lambda out: len(out))
def combine(start, stop, Y, Z, a, b, c, out):
    """Twin of kernels.products.combine."""
    for k in range(start, stop):
        for i in range(out.shape[1]):
            for j in range(out.shape[2]):
                out[k, i, j] = b * Y[k, i, j] + c * Z[k, i, j]
            out[k, i, i] += a
