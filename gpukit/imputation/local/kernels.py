"""The local regression on a GPU; twins.py has the same for the CPU."""

import math

import numpy as np

from gpukit._cuda import cuda, device, kernel
from gpukit.imputation.local.formulas import between, share_between, weight_of
from gpukit.imputation.local.plan import LEAST, OWN, SIDE, THREADS

ONE = np.float32(1.0)


@kernel
def describe(values, before, after, at, series, near, vertex, column, out, base):
    """The features x of values, and the line's point that they are added to.

    values (N, T) float32; before, after (N, T) int32: the nearest observed column before and after each, -1 and T for
    none, of every vertex in question there is one at least; at (T,) float32: when columns were; series (M, T) float32:
    whole ones; near (N, k) int32: which of them are looked at; vertex, column (n,) int32; out (n, OWN + 4 k) float32,
    base (n,) float32, overwritten.
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
def regress(features, targets, first, start, pull, group, rounds, coefficients, weights):
    """Coefficients of groups of values: the least sum of |y - beta' x|, or squares, drawn to a start by a ridge.

    features (n, size) float32, targets (n,) float32, group after group; first (G + 1,) int64: where each begins; start
    (S, size) float64, and pull (S, size) float64: the ridge of each of its coefficients, in squares of a feature added
    up; group (G,) int32: the start of each; rounds: of reweighting, 0 for squares; coefficients (G, size) float64,
    overwritten; weights (n,) float64, scratch.
    Launch: a block a group, block 128.   Deterministic: yes.
    Source: iteratively reweighted least squares, e.g. Green, J. R. Statist. Soc. B 46 (1984).
    """
    G, beta = cuda.shared.array((SIDE, SIDE), np.float64), cuda.shared.array(SIDE, np.float64)
    parts, b = cuda.shared.array(THREADS, np.float64), cuda.shared.array(SIDE, np.float64)
    g, thread, size = cuda.blockIdx.x, cuda.threadIdx.x, features.shape[1]
    begin, end = first[g], first[g + 1]
    origin = group[g]
    if thread < size:
        beta[thread] = start[origin, thread]
    cuda.syncthreads()
    again = max(rounds, 1) if end > begin else 0
    for _ in range(again):
        _reweigh(features, targets, begin, end, beta, weights, rounds > 0, parts)
        _gather(features, targets, begin, end, weights, G, b)
        if thread < size:
            b[thread] += pull[origin, thread] * start[origin, thread]
            G[thread, thread] += pull[origin, thread] + 1e-12
        cuda.syncthreads()
        _decompose(G, size)
        if thread == 0:
            _substitute(G, b, beta, size)
        cuda.syncthreads()
    if thread < size:
        coefficients[g, thread] = beta[thread]


@kernel
def answer(features, base, group, coefficients, out):
    """out = base + beta' x, of the coefficients of a value's group.

    features (n, size) float32, base (n,) float32, group (n,) int32, coefficients (G, size) float64, out (n,) float64.
    Launch: any grid of one dimension, a thread a value.   Deterministic: yes.   Source: this project's.
    """
    for i in range(cuda.grid(1), group.size, cuda.gridsize(1)):
        total, g = np.float64(base[i]), group[i]
        for j in range(features.shape[1]):
            total += features[i, j] * coefficients[g, j]
        out[i] = total


@device
def _reweigh(features, targets, begin, end, beta, weights, absolute, parts):
    """weights of values begin to end, their mean 1: of their residuals, or equal."""
    thread, total = cuda.threadIdx.x, 0.0
    for i in range(begin + thread, end, THREADS):
        residual = np.float64(targets[i])
        for j in range(features.shape[1]):
            residual -= features[i, j] * beta[j]
        weights[i] = residual
        total += abs(residual)
    least, total = LEAST * _sum(total, parts) / (end - begin) + 1e-30, 0.0
    for i in range(begin + thread, end, THREADS):
        weights[i] = weight_of(weights[i], least) if absolute else 1.0
        total += weights[i]
    scale = (end - begin) / _sum(total, parts)
    for i in range(begin + thread, end, THREADS):
        weights[i] *= scale
    cuda.syncthreads()


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
def _gather(features, targets, begin, end, weights, G, b):
    """G = X' W X, lower half, and b = X' W y."""
    size = features.shape[1]
    for pair in range(cuda.threadIdx.x, size * (size + 1), THREADS):
        j, k = pair // (size + 1), pair % (size + 1)
        if k > j and k < size:
            continue
        total = 0.0
        for i in range(begin, end):
            other = features[i, k] if k < size else targets[i]
            total += weights[i] * features[i, j] * other
        if k < size:
            G[j, k] = total
        else:
            b[j] = total
    cuda.syncthreads()


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
