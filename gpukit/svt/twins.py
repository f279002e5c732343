"""CPU twin of kernels.py: the same name, the same arguments in the same order, slices in parallel."""

import math

import numpy as np

from gpukit._jit import njit, prange
from gpukit.svt.formulas import (
    GAP,
    ONE,
    binary_scale,
    leak,
    least_square,
    partner,
    rotation,
    settled,
    squared_cosine,
    tolerances,
    turned,
    weight,
)

SWEEPS = 40
U32 = np.uint32


@njit
def dot(x, y):
    """x'y."""
    total = x[0] * y[0]
    for i in range(1, x.size):
        total += x[i] * y[i]
    return total


@njit
def stage(X, space):
    """space (k, l) = the vectors of a slice (m, n), times a power of two, which is returned."""
    m, n = X.shape
    largest = X[0, 0] - X[0, 0]
    for i in range(m):
        for j in range(n):
            largest = max(largest, abs(X[i, j]))
    scale = binary_scale(largest) if largest > 0 else largest + ONE
    for i in range(m):
        for j in range(n):
            if m < n:
                space[i, j] = X[i, j] * scale
            else:
                space[j, i] = X[i, j] * scale
    return scale


@njit
def triangulate(space, floor, squares, rows):
    """rows (k, k) = the rows of R, in the order of their pivots; those of squared lengths up to floor stay 0."""
    vectors = space.shape[0]
    rows[:] = floor - floor
    for step in range(vectors):
        pivot = np.argmax(squares)
        square = squares[pivot]
        if not square > floor:
            break
        length, q = math.sqrt(square), space[pivot]
        for vector in range(vectors):
            if vector != pivot and not squares[vector] < 0:
                x = space[vector]
                share = dot(q, x)
                rows[step, vector] = share / length
                share /= square
                for i in range(x.size):
                    x[i] -= share * q[i]
                squares[vector] = dot(x, x)
        rows[step, pivot] = length
        squares[pivot] = -length


@njit
def measure(rows, squares):
    """squares = the squared lengths of the vectors."""
    for vector in range(rows.shape[0]):
        squares[vector] = dot(rows[vector], rows[vector])


@njit
def counted(squares, seats, least):
    """(vectors left when those at the end that add up to less than least go, what these add up to)."""
    counting, behind = squares.size, least - least
    while counting > 0:
        square = squares[seats[counting - 1]]
        if square > 0 and not behind + square < least:
            break
        counting, behind = counting - 1, behind + square
    return counting, behind


@njit
def arrange(squares, least, drop, seats):
    """seats = the vectors by falling length; returns how many of them count, see kernels.arrange."""
    seats[:] = np.argsort(-squares, kind="mergesort")
    counting, behind = counted(squares, seats, least)
    most, _ = counted(squares, seats, drop * squares.sum())
    while 0 < counting < squares.size and behind > GAP * squares[seats[counting - 1]]:
        behind -= squares[seats[counting]]
        counting += 1
    return min(counting, most)


@njit
def rotate(rows, owners, a, b, counts, tolerance, squares, extremes):
    """Make vectors a and b of four orthogonal, if one of them counts; see kernels.rotate."""
    if not counts[a] and not counts[b]:
        return
    x, y = owners[a], owners[b]
    product, x_square, y_square = rows[x, 0] * rows[y, 0], squares[x], squares[y]
    for i in range(1, rows.shape[1]):
        product += rows[x, i] * rows[y, i]
    cosine = squared_cosine(x_square, y_square, product, tolerance)
    if cosine > tolerance:
        t, s, h = rotation(x_square, y_square, product)
        extremes[0], extremes[1] = max(extremes[0], cosine), max(extremes[1], abs(t))
        if counts[a] != counts[b]:
            lean = leak(x_square, y_square, t) if counts[a] else leak(y_square, x_square, t)
            extremes[2] = max(extremes[2], lean)
        for i in range(rows.shape[1]):
            u, v = turned(rows[x, i], rows[y, i], s, h)
            rows[x, i] = u
            rows[y, i] = v
        squares[x] -= t * product
        squares[y] += t * product


@njit
def meet(rows, seats, four, counting, tolerance, opening, squares, owners, counts, extremes):
    """Every two vectors on two pairs of seats, see kernels.meet."""
    there = 0
    for seat in four:
        if seat < seats.size:
            owners[there], counts[there] = seats[seat], seat < counting
            there += 1
    if opening:
        for a, b in ((0, 1), (2, 3)):
            if b < there:
                rotate(rows, owners, a, b, counts, tolerance, squares, extremes)
    for a, b in ((0, 2), (1, 3), (0, 3), (1, 2)):
        if b < there:
            rotate(rows, owners, a, b, counts, tolerance, squares, extremes)


@njit
def sweep(rows, seats, counting, tolerance, squares, extremes):
    """Every two vectors once, in the tournament of kernels.sweep."""
    couples = (seats.size + 1) // 2
    players = couples + couples % 2
    owners, counts = np.empty(4, seats.dtype), np.empty(4, np.bool_)
    extremes[:] = squares[0] - squares[0]
    for step in range(players - 1):
        for match in range(players // 2):
            first, second = partner(U32(match), U32(step), U32(players))
            if 2 * first < counting:
                four = (2 * first, 2 * first + 1, 2 * second, 2 * second + 1)
                meet(rows, seats, four, counting, tolerance, step == 0, squares, owners, counts, extremes)


@njit
def multiply(X, rows, seats, weights, kept, out):
    """out = B A' diag(weights) A, of the vectors on the first `kept` seats; B is the slice X or its transpose."""
    A = np.empty((kept, rows.shape[1]), rows.dtype)
    for seat in range(kept):
        A[seat] = rows[seats[seat]]
    if X.shape[0] < X.shape[1]:
        out[:] = (A.T * weights[:kept]) @ (A @ X)
    else:
        out[:] = ((X @ A.T) * weights[:kept]) @ A


@njit
def turn(rows, squares, seats, bound, whole, ready, constants):
    """Sweeps until the vectors that count are orthogonal; how many, with squares and seats up to date."""
    tolerance, goal, drop = constants
    extremes, done = np.empty(3, rows.dtype), 0
    while not ready and done < SWEEPS:
        measure(rows, squares)
        counting = arrange(squares, least_square(bound, done, whole), drop, seats)
        sweep(rows, seats, counting, tolerance, squares, extremes)
        ready = settled(extremes[0], extremes[1], extremes[2], goal)
        done += 1
    measure(rows, squares)
    return done


@njit
def solve(X, bound, constants, out, values):
    """(rank, sweeps) of one slice, see kernels.make_threshold."""
    vectors, length = min(X.shape), max(X.shape)
    space, rows = np.empty((vectors, length), X.dtype), np.empty((vectors, vectors), X.dtype)
    squares, weights, seats = np.empty(vectors, X.dtype), np.empty(vectors, X.dtype), np.empty(vectors, np.int64)
    scale = stage(X, space)
    bound *= scale
    measure(space, squares)
    total, whole = squares.sum(), values.size > 0
    triangulate(space, constants[2] / X.dtype.type(vectors) * total, squares, rows)
    done, kept = turn(rows, squares, seats, bound, whole, total <= bound * bound and not whole, constants), 0
    for seat in range(arrange(squares, bound - bound, constants[2], seats)):
        kept += math.sqrt(squares[seats[seat]]) > bound
        weights[seat] = weight(squares[seats[seat]], bound)
    for seat in range(values.size):
        values[seat] = math.sqrt(squares[seats[seat]]) / scale
    multiply(X, rows, seats, weights, kept, out)
    return kept, done


@njit(parallel=True)
def threshold_slices(X, lam, out, values, ranks, sweeps):
    """Twin of kernels.threshold_slices."""
    given, real = tolerances(X.itemsize), X.dtype.type
    constants = (real(given[0]), real(given[1]), real(given[2]))
    for k in prange(X.shape[0]):
        ranks[k], sweeps[k] = solve(X[k], lam[k], constants, out[k], values[k])
