"""CPU twins of kernels.py."""

import numpy as np

from gpukit._jit import copy_row, njit
from gpukit.factorization.solvers.ials import PANEL
from gpukit.factorization.solvers.squares_formulas import ZERO, invert_pivot, quotient
from gpukit.factorization.twins import dot
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
    """Twin of kernels.products_of_pieces."""
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


@njit
def _apply_gram(owner, decay, sums, shared, way, out):
    """out = sum of a row's pieces + (S + lambda I) times its direction."""
    for f in range(out.size):
        out[f] = decay * way[f]
    for piece in range(owner[1], owner[1] + owner[2]):
        out += sums[piece]
    for g in range(out.size):
        line, factor = shared[g], way[g]
        for f in range(out.size):
            out[f] += factor * line[f]


@njit
def _times(matrix, x, out):
    """out = symmetric matrix times x."""
    out[:] = ZERO
    for g in range(out.size):
        line, factor = matrix[g], x[g]
        for f in range(out.size):
            out[f] += factor * line[f]


@by_block(lambda owners: owners.shape[0])
def begin_descent(start, stop, owners, decays, sums, shared, inverse, state, table):
    """Twin of kernels.begin_descent."""
    (ways, left, rests), width = state, state.ways.shape[1]
    for owner in range(start, stop):
        row, out = owners[owner, 0], np.empty(width, np.float32)
        _apply_gram(owners[owner], decays[owner], sums, shared, table[row, :width], out)
        for f in range(width):
            left[row, f] = -out[f]
        _times(inverse, left[row], ways[row])
        rests[row] = dot(left[row], ways[row], width)


@by_block(lambda owners: owners.shape[0])
def descend(start, stop, owners, decays, sums, shared, inverse, last, state, table):
    """Twin of kernels.descend."""
    (ways, left, rests), width = state, state.ways.shape[1]
    for owner in range(start, stop):
        row, out = owners[owner, 0], np.empty(width, np.float32)
        way, rest, solution = ways[row], left[row], table[row]
        _apply_gram(owners[owner], decays[owner], sums, shared, way, out)
        step = quotient(rests[row], dot(way, out, width))
        for f in range(width):
            solution[f] += step * way[f]
            rest[f] -= step * out[f]
        if not last:
            _times(inverse, rest, out)
            before, rests[row] = rests[row], dot(rest, out, width)
            turn = quotient(rests[row], before)
            for f in range(width):
                way[f] = out[f] + turn * way[f]


@njit
def _number(shared, decay, source, first, row, column):
    """Return a number of the matrix before a step: of S + decay I if first, else of `source`."""
    if not first:
        return source[row, column]
    return np.float64(shared[row, column]) + (decay if row == column else 0.0)


@njit
def _invert(wholes, square):
    """Invert a square in place, with 0 for unknowns whose pivot is rounding; wholes: the original diagonal."""
    for c in range(len(square)):
        over = invert_pivot(square[c, c], wholes[c])
        square[c, c] = 1.0
        for b in range(len(square)):
            square[c, b] *= over
        for a in range(len(square)):
            if a != c:
                left = square[a, c]
                square[a, c] = 0.0
                for b in range(len(square)):
                    square[a, b] -= left * square[c, b]


@njit
def _step(row, begin, above, pivot, out):
    """out = a row outside the step's panel, after the step."""
    size = len(pivot)
    left = row[begin : begin + size]
    copy_row(row, out)
    out[begin : begin + size] = 0.0
    for c in range(size):
        share = 0.0
        for b in range(size):
            share += left[b] * pivot[b, c]
        line, target = above[c], out
        for f in range(out.size):
            target[f] -= share * line[f]
        out[begin + c] = -share


@njit
def _panel(shared, decay, step, source):
    """Return the inverse of a step's diagonal square, and the step's rows with 0 in that square."""
    n, begin = len(shared), step * PANEL
    size = min(PANEL, n - begin)
    pivot, wholes, above = np.empty((size, size)), np.empty(size), np.empty((size, n))
    for a in range(size):
        wholes[a] = shared[begin + a, begin + a] + decay
        for b in range(n):
            above[a, b] = _number(shared, decay, source, step == 0, begin + a, b)
        copy_row(above[a, begin : begin + size], pivot[a])
    _invert(wholes, pivot)
    above[:, begin : begin + size] = 0.0
    return pivot, above


@by_block(lambda shared: len(shared))
def _invert_rows(start, stop, shared, decay, step, source, pivot, above, out, inverse):
    """Compute all rows after a step."""
    n, begin, size = len(shared), step * PANEL, len(pivot)
    for i in range(start, stop):
        row = np.empty(n)
        for b in range(n):
            row[b] = _number(shared, decay, source, step == 0, i, b)
        if begin <= i < begin + size:
            out[i] = 0.0
            for c in range(size):
                for f in range(n):
                    out[i, f] += pivot[i - begin, c] * above[c, f]
            copy_row(pivot[i - begin], out[i, begin : begin + size])
        else:
            _step(row, begin, above, pivot, out[i])
        for f in range(n):
            inverse[i, f] = np.float32(out[i, f])


def invert_panel(shared, decay, step, source, out, inverse):
    """Twin of kernels.invert_panel."""
    _invert_rows(shared, decay, step, source, *_panel(shared, decay, step, source), out, inverse)
