"""CPU twin of descent_kernels.py."""

import numpy as np

from gpukit._jit import njit
from gpukit.factorization.solvers.squares.formulas import ZERO, quotient
from gpukit.factorization.twins import dot
from gpukit.scheduler import by_block


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
    """Twin of kernels.descent.begin_descent."""
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
    """Twin of kernels.descent.descend."""
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
