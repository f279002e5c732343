"""Products and steps of conjugate gradients on the CPU; kernels.py has the GPU kernels."""

import numpy as np

from gpukit._jit import copy_row, njit
from gpukit.imputation.smoothness.formulas import pull, step_along
from gpukit.scheduler import by_block

ONE = np.float32(1.0)


@by_block(lambda x: len(x))
def differ(start, stop, x, seen, gaps, lags, near, steady, together, shared, own):
    """Twin of kernels.differ: vertex by vertex, all columns of a lag at a time."""
    for v in range(start, stop):
        row, mine, theirs = x[v], own[v], shared[v]
        for t in range(len(row)):
            mine[t] = row[t] if seen[v, t] else np.float32(0.0)
            theirs[t] = near * row[t]
        for k in range(len(lags)):
            lag, b, c = lags[k], steady[k], together[k]
            for t in range(lag, len(row)):
                change = pull(row[t], row[t - lag], gaps[t - 1] if k == 0 else ONE)
                mine[t] = step_along(mine[t], b, change)
                theirs[t] = step_along(theirs[t], c, change)
            for t in range(len(row) - lag):
                change = pull(row[t], row[t + lag], gaps[t] if k == 0 else ONE)
                mine[t] = step_along(mine[t], b, change)
                theirs[t] = step_along(theirs[t], c, change)


@by_block(lambda sums: len(sums))
def spread(start, stop, shared, own, first, neighbors, weights, direction, image, sums):
    """Twin of kernels.spread: a block for every row of sums."""
    blocks, rows = len(sums), len(shared)
    for block in range(start, stop):
        total = 0.0
        for v in range(block * rows // blocks, (block + 1) * rows // blocks):
            out = image[v]
            copy_row(own[v], out)
            for edge in range(first[v], first[v + 1]):
                add(out, weights[edge], shared[neighbors[edge]])
            total += product(out, direction[v])
        sums[block] = total


@njit
def add(out, weight, row):
    """Add weight row to out."""
    for t in range(len(out)):
        out[t] = step_along(out[t], weight, row[t])


@njit
def product(one, other):
    """Return one . other in float64."""
    total = 0.0
    for t in range(len(one)):
        total += np.float64(one[t]) * np.float64(other[t])
    return total


@by_block(lambda sums: len(sums))
def advance(start, stop, length, direction, image, inverse, x, residual, scaled, sums):
    """Twin of kernels.advance: a block for every row of sums."""
    blocks = len(sums)
    for block in range(start, stop):
        total = 0.0
        for i in range(block * len(x) // blocks, (block + 1) * len(x) // blocks):
            x[i] = step_along(x[i], length, direction[i])
            left = step_along(residual[i], -length, image[i])
            small = inverse[i] * left
            residual[i], scaled[i] = left, small
            total += np.float64(left) * np.float64(small)
        sums[block] = total


@by_block(lambda direction: len(direction))
def redirect(start, stop, share, scaled, direction):
    """Twin of kernels.redirect."""
    for k in range(stop - start):
        i = start + k
        direction[i] = step_along(scaled[i], share, direction[i])
