"""GPU kernels of the local regression; twins.py has their CPU twins."""

import math

import numpy as np

from gpukit._cuda import cuda, device, kernel
from gpukit.imputation.constants import ERROR_FLOOR
from gpukit.imputation.local.formulas import (
    CELL,
    OWN,
    ROW,
    SIDE,
    THREADS,
    TILE,
    between,
    share_between,
    weight_of,
)

ONE = np.float32(1.0)


@kernel
def describe(values, before, after, at, series, near, vertex, column, out, base):
    """Compute the features x of values, and the point of the line as their base.

    values (N, T) float32; before, after (N, T) int32: the nearest observed column before and after each, -1 and T for
    none, at least one for every vertex; at (T,) float32: times of columns; series (M, T) float32: complete; near (N, k)
    int32: the predicting series; vertex, column (n,) int32; out (n, OWN + 4 k) float32, base (n,) float32, overwritten.
    Launch: any grid of one dimension, a thread a value.   Deterministic: yes.   Source: this project's.
    """
    last = values.shape[1] - 1
    for i in range(cuda.grid(1), vertex.size, cuda.gridsize(1)):
        v, t = vertex[i], column[i]
        left, right = before[v, t], after[v, t]
        if left < 0:
            left = right
        if right > last:
            right = left
        share = share_between(at[left], at[t], at[right])
        low, high = values[v, left], values[v, right]
        point = between(low, high, share)
        base[i] = point
        second = before[v, left] if before[v, left] >= 0 else left
        third = before[v, second] if before[v, second] >= 0 else second
        out[i, 0], out[i, 1], out[i, 2] = low - point, values[v, second] - point, values[v, third] - point
        second = after[v, right] if after[v, right] <= last else right
        third = after[v, second] if after[v, second] <= last else second
        out[i, 3], out[i, 4], out[i, 5] = values[v, second] - point, values[v, third] - point, ONE
        for k in range(near.shape[1]):
            n, place = near[v, k], OWN + 4 * k
            here = series[n, t]
            out[i, place] = here - between(series[n, left], series[n, right], share)
            out[i, place + 1] = here - point
            out[i, place + 2] = series[n, max(t - 1, 0)] - point
            out[i, place + 3] = series[n, min(t + 1, last)] - point


@kernel
def remainders(features, targets, owner, begin, end, coefficients, rest, sizes):
    """Compute rest = y - beta' x of values, and the sum of |rest| over each piece.

    features (n, size) float32, targets (n,) float32; owner (C,) int32, begin, end (C,) int64: for each piece of a group
    of values, the group, its first value and the one after its last; coefficients (G, size) float64; rest (n,), sizes
    (C,) float64, overwritten.
    Launch: a block a piece, block THREADS.   Deterministic: yes.   Source: this project's.
    """
    parts, beta = cuda.shared.array(THREADS, np.float64), cuda.shared.array(SIDE, np.float64)
    piece, thread, size, total = cuda.blockIdx.x, cuda.threadIdx.x, features.shape[1], 0.0
    if thread < size:
        beta[thread] = coefficients[owner[piece], thread]
    cuda.syncthreads()
    for i in range(begin[piece] + thread, end[piece], THREADS):
        residual = np.float64(targets[i])
        for j in range(size):
            residual -= features[i, j] * beta[j]
        rest[i] = residual
        total += abs(residual)
    total = _sum(total, parts)
    if thread == 0:
        sizes[piece] = total


@kernel
def gather(features, targets, owner, begin, end, first, rest, sizes, absolute, sums, weights):
    """Compute X' W X, lower half, X' W y below it, and the sum of W, of each piece.

    features (n, size), targets (n,) float32, owner (C,) int32, begin, end (C,) int64, rest (n,), sizes (C,) float64: as
    in remainders; first (G + 1,) int64: the first piece of each group; absolute: W is 1 / |rest|, with |rest| at least
    ERROR_FLOOR of the group's mean, or 1; sums (C, size + 1, size + 1), weights (C,) float64, overwritten, only the
    lower half of sums.
    Launch: a block a piece, block THREADS.   Deterministic: yes.
    Source: iteratively reweighted least squares, e.g. Green, J. R. Statist. Soc. B 46 (1984).
    """
    tile, W = cuda.shared.array((TILE, ROW), np.float32), cuda.shared.array(TILE, np.float64)
    cell = cuda.local.array((CELL, CELL), np.float64)
    piece, thread, wide = cuda.blockIdx.x, cuda.threadIdx.x, features.shape[1] + 1
    stop = end[piece]
    least = _least(owner[piece], begin, end, first, sizes) if absolute else 0.0
    row = int((math.sqrt(8.0 * thread + 1.0) - 1.0) / 2.0)
    down, across = CELL * row, CELL * (thread - row * (row + 1) // 2)
    for j in range(CELL):
        for k in range(CELL):
            cell[j, k] = 0.0
    whole = 0.0
    for at in range(begin[piece], stop, TILE):
        count = min(TILE, stop - at)
        _fetch(features, targets, at, count, rest, absolute, least, tile, W)
        cuda.syncthreads()
        if down < wide:
            _accumulate(tile, W, count, down, across, cell)
        if thread == THREADS - 1:
            for i in range(count):
                whole += W[i]
        cuda.syncthreads()
    for j in range(down, min(down + CELL, wide)):
        for k in range(across, min(across + CELL, j + 1)):
            sums[piece, j, k] = cell[j - down, k - across]
    if thread == THREADS - 1:
        weights[piece] = whole


@kernel
def solve(sums, weights, begin, end, first, start, pull, group, coefficients):
    """Solve for the coefficients of groups: weighted least squares, shrunk to a start by a ridge.

    sums (C, size + 1, size + 1), weights (C,) float64, begin, end (C,), first (G + 1,) int64: as in gather; start and
    pull (S, size) float64: the start of coefficients, and its ridge; group (G,) int32: the start of each group;
    coefficients (G, size) float64, overwritten: the start for empty groups.
    Launch: a block a group, block THREADS.   Deterministic: yes.   Source: this project's.
    """
    G, b = cuda.shared.array((SIDE, SIDE), np.float64), cuda.shared.array(SIDE, np.float64)
    beta = cuda.shared.array(SIDE, np.float64)
    g, thread, size = cuda.blockIdx.x, cuda.threadIdx.x, coefficients.shape[1]
    origin, count, whole = group[g], 0, 0.0
    for piece in range(first[g], first[g + 1]):
        count += end[piece] - begin[piece]
        whole += weights[piece]
    if thread < size:
        beta[thread] = start[origin, thread]
    if count > 0:
        for at in range(thread, (size + 1) * size, THREADS):
            _add_up(sums, first[g], first[g + 1], at // size, at % size, count / whole, G, b)
        cuda.syncthreads()
        if thread < size:
            b[thread] += pull[origin, thread] * beta[thread]
            G[thread, thread] += pull[origin, thread] + 1e-12
        cuda.syncthreads()
        _decompose(G, size)
        if thread == 0:
            _substitute(G, b, beta, size)
    cuda.syncthreads()
    if thread < size:
        coefficients[g, thread] = beta[thread]


@kernel
def place(source, rows, places, out):
    """Copy rows of features: out[places] = source[rows].

    source (n, size), out (m, size) float32; rows, places (k,) int64, places all different.
    Launch: any grid of one dimension, a thread a number.   Deterministic: yes.   Source: this project's.
    """
    size = out.shape[1]
    for i in range(cuda.grid(1), rows.size * size, cuda.gridsize(1)):
        out[places[i // size], i % size] = source[rows[i // size], i % size]


@kernel
def answer(features, base, group, coefficients, out):
    """Compute out = base + beta' x, beta of a value's group.

    features (n, size) float32, base (n,) float32, group (n,) int32, coefficients (G, size) float64, out (n,) float64.
    Launch: any grid of one dimension, a thread a value.   Deterministic: yes.   Source: this project's.
    """
    for i in range(cuda.grid(1), group.size, cuda.gridsize(1)):
        total, g = np.float64(base[i]), group[i]
        for j in range(features.shape[1]):
            total += features[i, j] * coefficients[g, j]
        out[i] = total


@device
def _least(owner, begin, end, first, sizes):
    """The size of a residual below which none weighs more, of a group."""
    total, count = 0.0, 0
    for piece in range(first[owner], first[owner + 1]):
        total += sizes[piece]
        count += end[piece] - begin[piece]
    return ERROR_FLOOR * total / count + 1e-30


@device
def _fetch(features, targets, at, count, rest, absolute, least, tile, W):
    """A tile of values, targets as their last column, and their weights."""
    thread, wide = cuda.threadIdx.x, features.shape[1] + 1
    for place in range(thread, count * wide, THREADS):
        i, j = place // wide, place % wide
        tile[i, j] = features[at + i, j] if j < wide - 1 else targets[at + i]
    if thread < count:
        W[thread] = weight_of(rest[at + thread], least) if absolute else 1.0


@device
def _accumulate(tile, W, count, down, across, cell):
    """cell += the weighted products of CELL columns with CELL columns of a tile."""
    for i in range(count):
        weight = W[i]
        for j in range(CELL):
            one = weight * tile[i, down + j]
            for k in range(CELL):
                cell[j, k] += one * tile[i, across + k]


@device
def _sum(value, parts):
    """The sum of a block's values, for all of its threads."""
    thread, reach = cuda.threadIdx.x, THREADS // 2
    parts[thread] = value
    while reach > 0:
        cuda.syncthreads()
        if thread < reach:
            parts[thread] += parts[thread + reach]
        reach //= 2
    cuda.syncthreads()
    total = parts[0]
    cuda.syncthreads()
    return total


@device
def _add_up(sums, first, end, j, k, scale, G, b):
    """G[j, k], or b[k] where j is the last row, of the sums of pieces."""
    if k > j:
        return
    total = 0.0
    for piece in range(first, end):
        total += sums[piece, j, k]
    if j < sums.shape[1] - 1:
        G[j, k] = total * scale
    else:
        b[k] = total * scale


@device
def _decompose(G, size):
    """G = L L', in its lower half."""
    thread = cuda.threadIdx.x
    for j in range(size):
        root = math.sqrt(max(G[j, j], 1e-30))
        cuda.syncthreads()
        if j <= thread < size:
            G[thread, j] /= root
        cuda.syncthreads()
        if j < thread < size:
            for k in range(j + 1, thread + 1):
                G[thread, k] -= G[thread, j] * G[k, j]
        cuda.syncthreads()


@device
def _substitute(L, b, x, size):
    """x of L L' x = b."""
    for j in range(size):
        x[j] = b[j]
        for k in range(j):
            x[j] -= L[j, k] * x[k]
        x[j] /= L[j, j]
    for j in range(size - 1, -1, -1):
        for k in range(j + 1, size):
            x[j] -= L[k, j] * x[k]
        x[j] /= L[j, j]
