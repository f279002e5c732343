"""The local regression on the CPU; kernels.py has the same for a GPU."""

import numpy as np

from gpukit._jit import njit, prange
from gpukit.imputation.local.formulas import between, share_between, weight_of
from gpukit.imputation.local.plan import LEAST, OWN


@njit(parallel=True)
def describe(values, before, after, at, series, near, vertex, column, out, base):
    """The features of values: see kernels.describe."""
    last = values.shape[1] - 1
    for i in prange(len(vertex)):
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


@njit(parallel=True)
def regress(features, targets, first, start, pull, group, rounds, coefficients, weights):
    """Coefficients of groups of values: see kernels.regress."""
    size = features.shape[1]
    for g in prange(len(first) - 1):
        begin, end = first[g], first[g + 1]
        beta = start[group[g]].copy()
        if end > begin:
            for _ in range(max(rounds, 1)):
                reweigh(features, targets, begin, end, beta, weights, rounds > 0)
                beta = solved(features, targets, begin, end, start[group[g]], pull[group[g]], weights)
        for j in range(size):
            coefficients[g, j] = beta[j]


@njit
def reweigh(features, targets, begin, end, beta, weights, absolute):
    """weights of values begin to end, their mean 1: of their residuals, or equal."""
    total = 0.0
    for i in range(begin, end):
        residual = np.float64(targets[i])
        for j in range(len(beta)):
            residual -= features[i, j] * beta[j]
        weights[i] = residual
        total += abs(residual)
    least, total = LEAST * total / (end - begin) + 1e-30, 0.0
    for i in range(begin, end):
        weights[i] = weight_of(weights[i], least) if absolute else 1.0
        total += weights[i]
    for i in range(begin, end):
        weights[i] *= (end - begin) / total


@njit
def solved(features, targets, begin, end, start, pull, weights):
    """The least weighted squares of values begin to end, drawn to `start` as hard as `pull` says."""
    size = features.shape[1]
    G, b = np.zeros((size, size)), np.zeros(size)
    row = np.empty(size)
    for i in range(begin, end):
        weight, target = weights[i], np.float64(targets[i])
        for j in range(size):
            row[j] = weight * features[i, j]
        for j in range(size):
            b[j] += row[j] * target
            for k in range(j + 1):
                G[j, k] += row[j] * features[i, k]
    for j in range(size):
        b[j] += pull[j] * start[j]
        G[j, j] += pull[j] + 1e-12
    decompose(G)
    return substitute(G, b)


@njit
def decompose(G):
    """G = L L', in its lower half."""
    size = len(G)
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


@njit(parallel=True)
def answer(features, base, group, coefficients, out):
    """base + beta' x of values: see kernels.answer."""
    for i in prange(len(group)):
        total = np.float64(base[i])
        for j in range(features.shape[1]):
            total += features[i, j] * coefficients[group[i], j]
        out[i] = total
