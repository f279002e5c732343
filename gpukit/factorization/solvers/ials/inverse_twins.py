"""CPU twin of inverse_kernels.py."""

import numpy as np

from gpukit._jit import copy_row, njit
from gpukit.factorization.solvers.ials.formulas import PANEL
from gpukit.factorization.solvers.squares.formulas import invert_pivot
from gpukit.scheduler import by_block


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
    """Twin of kernels.inverse.invert_panel."""
    _invert_rows(shared, decay, step, source, *_panel(shared, decay, step, source), out, inverse)
