"""CPU twins of the local regression's kernels."""

import numpy as np

from gpukit._jit import njit
from gpukit.imputation.constants import ERROR_FLOOR
from gpukit.imputation.local.formulas import CELL, OWN, TILE, between, share_between, weight_of
from gpukit.scheduler import by_block


@by_block(lambda vertex: len(vertex))
def describe(start, stop, values, before, after, at, series, near, vertex, column, out, base):
    """Compute the features of values: see kernels.describe."""
    last = values.shape[1] - 1
    for i in range(start, stop):
        v, t = vertex[i], column[i]
        left, right = before[v, t], after[v, t]
        left, right = (right if left < 0 else left), (left if right > last else right)
        share = share_between(at[left], at[t], at[right])
        low, high = values[v, left], values[v, right]
        point = between(low, high, share)
        base[i] = point
        second = before[v, left] if before[v, left] >= 0 else left
        third = before[v, second] if before[v, second] >= 0 else second
        out[i, 0], out[i, 1], out[i, 2] = low - point, values[v, second] - point, values[v, third] - point
        second = after[v, right] if after[v, right] <= last else right
        third = after[v, second] if after[v, second] <= last else second
        out[i, 3], out[i, 4], out[i, 5] = values[v, second] - point, values[v, third] - point, 1.0
        for k in range(near.shape[1]):
            n, place = near[v, k], OWN + 4 * k
            here = series[n, t]
            out[i, place] = here - between(series[n, left], series[n, right], share)
            out[i, place + 1] = here - point
            out[i, place + 2] = series[n, max(t - 1, 0)] - point
            out[i, place + 3] = series[n, min(t + 1, last)] - point


@by_block(lambda owner: len(owner))
def remainders(start, stop, features, targets, owner, begin, end, coefficients, rest, sizes):
    """Compute rest = y - beta' x, and the sum of |rest| over each piece: see kernels.remainders."""
    for piece in range(start, stop):
        total, beta = 0.0, coefficients[owner[piece]]
        for i in range(begin[piece], end[piece]):
            residual = np.float64(targets[i])
            for j in range(len(beta)):
                residual -= features[i, j] * beta[j]
            rest[i] = residual
            total += abs(residual)
        sizes[piece] = total


@by_block(lambda owner: len(owner))
def gather(start, stop, features, targets, owner, begin, end, first, rest, sizes, absolute, sums, weights):
    """Compute the sums of each piece: see kernels.gather."""
    size = features.shape[1]
    for piece in range(start, stop):
        low, high = begin[piece], end[piece]
        least = least_of(owner[piece], begin, end, first, sizes) if absolute else 0.0
        block, whole = np.zeros((TILE, size + 1)), 0.0
        G, row = np.zeros((size + 1, size + 1)), np.empty((TILE, size + 1))
        for at in range(low, high, TILE):
            count = min(TILE, high - at)
            for i in range(count):
                weight = weight_of(rest[at + i], least) if absolute else 1.0
                whole += weight
                for j in range(size):
                    block[i, j] = features[at + i, j]
                block[i, size] = targets[at + i]
                for j in range(size + 1):
                    row[i, j] = weight * block[i, j]
            accumulate(row, block, count, G)
        sums[piece], weights[piece] = G, whole


@njit
def accumulate(row, block, count, G):
    """Add row' block of `count` values to G, lower half."""
    for i in range(0, count - count % CELL, CELL):
        for j in range(len(G)):
            a, b, c, d = row[i, j], row[i + 1, j], row[i + 2, j], row[i + 3, j]
            for k in range(j + 1):
                G[j, k] += a * block[i, k] + b * block[i + 1, k] + c * block[i + 2, k] + d * block[i + 3, k]
    for i in range(count - count % CELL, count):
        for j in range(len(G)):
            for k in range(j + 1):
                G[j, k] += row[i, j] * block[i, k]


@njit
def least_of(owner, begin, end, first, sizes):
    """The size of a residual below which none weighs more, of a group."""
    total, count = 0.0, 0
    for piece in range(first[owner], first[owner + 1]):
        total += sizes[piece]
        count += end[piece] - begin[piece]
    return ERROR_FLOOR * total / count + 1e-30


@by_block(lambda group: len(group))
def solve(from_group, to_group, sums, weights, begin, end, first, start, pull, group, coefficients):
    """Coefficients of groups: see kernels.solve."""
    size = coefficients.shape[1]
    for g in range(from_group, to_group):
        origin, drawn, count, whole = start[group[g]], pull[group[g]], 0, 0.0
        G = np.zeros((size + 1, size + 1))
        for piece in range(first[g], first[g + 1]):
            count += end[piece] - begin[piece]
            whole += weights[piece]
            G += sums[piece]
        if count == 0:
            coefficients[g] = origin
        else:
            G *= count / whole
            b = G[size, :size].copy()
            for j in range(size):
                b[j] += drawn[j] * origin[j]
                G[j, j] += drawn[j] + 1e-12
            decompose(G, size)
            coefficients[g] = substitute(G, b)


@njit
def decompose(G, size):
    """G = L L', in its lower half, of the first rows."""
    for j in range(size):
        for k in range(j):
            for i in range(j, size):
                G[i, j] -= G[i, k] * G[j, k]
        root = np.sqrt(max(G[j, j], 1e-30))
        for i in range(j, size):
            G[i, j] /= root


@njit
def substitute(L, b):
    """x of L L' x = b."""
    size = len(b)
    x = b.copy()
    for j in range(size):
        for k in range(j):
            x[j] -= L[j, k] * x[k]
        x[j] /= L[j, j]
    for j in range(size - 1, -1, -1):
        for k in range(j + 1, size):
            x[j] -= L[k, j] * x[k]
        x[j] /= L[j, j]
    return x


@by_block(lambda rows: len(rows))
def place(start, stop, source, rows, places, out):
    """out[places] = source[rows]: see kernels.place."""
    for k in range(stop - start):
        i = start + k
        out[places[i]] = source[rows[i]]


@by_block(lambda group: len(group))
def answer(start, stop, features, base, group, coefficients, out):
    """base + beta' x of values: see kernels.answer."""
    for k in range(stop - start):
        i = start + k
        total = np.float64(base[i])
        for j in range(features.shape[1]):
            total += features[i, j] * coefficients[group[i], j]
        out[i] = total
