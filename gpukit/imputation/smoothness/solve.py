"""Conjugate gradients for given weights, for both devices."""

from typing import NamedTuple

import numpy as np

from gpukit.imputation.periods import lags_of
from gpukit.imputation.smoothness.graph import laplacian_of

STEPS = 200  # at most
TOLERANCE, ROUGH = 2e-4, 7e-4  # of the scaled residual's length, relative to its start: final, in the search


class Weights(NamedTuple):
    """Weights of the objective.

    alike: the power of the ends' similarity in edge weights (graph.py), 0 or 1; near (a): on the graph; steady (b):
    from column to column; together (c): of changes; repeats: s of each further lag, (lags,).
    """

    alike: int
    near: float
    steady: float
    together: float
    repeats: tuple


class Observed(NamedTuple):
    """Observed values of a table and its graph.

    values (N, T) float32, 0 where missing; seen (N, T) bool; gaps (T,) float32, lags (K,) int32 (kernels.differ); first
    (N + 1,) int32, neighbors (E,) int32, weights (E,) float32: the rows of the graph's Laplacian; own (N,) float32:
    its diagonal.
    """

    values: np.ndarray
    seen: np.ndarray
    gaps: np.ndarray
    lags: np.ndarray
    first: np.ndarray
    neighbors: np.ndarray
    weights: np.ndarray
    own: np.ndarray


def observed_of(problem, rest, alike):
    """Return the Observed of a problem.

    rest (N, T) float32: its values, 0 where missing; alike: see graph.laplacian_of.
    """
    L = laplacian_of(problem.adjacency, rest, problem.seen, alike)
    lags = np.array([1, *lags_of(problem)], np.int32)
    edges = L.indptr.astype(np.int32), L.indices.astype(np.int32), L.data.astype(np.float32)
    return Observed(rest, problem.seen, gaps_of(problem.at), lags, *edges, L.diagonal().astype(np.float32))


def gaps_of(at):
    """Return (T,) float32: the median distance of columns over the distance to the next, the last 0."""
    apart = np.diff(at)
    return np.append(np.median(apart) / apart if len(apart) else apart, 0.0).astype(np.float32)


def solve(solver, observed, weights, tolerance=TOLERANCE, steps=STEPS):
    """Solve from the solver's last solution for weights (Weights); return the number of steps."""
    near, steady, together = laws(weights)
    inverse = 1.0 / diagonal(observed, near, steady, together)
    goal = tolerance**2 * float(np.vdot(observed.values * inverse, observed.values).real)
    solver.set_weights(near, steady, together, inverse)
    solver.multiply()
    size = solver.advance(1.0)
    solver.redirect(0.0)
    for step in range(steps):
        if size <= goal:
            return step
        last, curve = size, solver.multiply()
        if curve <= 0.0:
            return step
        size = solver.advance(last / curve)
        solver.redirect(size / last)
    return steps


def laws(weights):
    """Return (a, b_k, c_k) in the form of kernels.differ."""
    scale = np.array([1.0, *weights.repeats])
    return (
        np.float32(weights.near),
        (weights.steady * scale).astype(np.float32),
        (weights.together * scale).astype(np.float32),
    )


def diagonal(observed, near, steady, together):
    """Return (N, T) float32: the diagonal of the product, above 0."""
    count = observed.values.shape[1]
    degree = np.zeros((len(observed.lags), count), np.float32)
    degree[0] = observed.gaps
    degree[0, 1:] += observed.gaps[:-1]
    for number, lag in enumerate(observed.lags[1:], 1):
        degree[number, lag:] += 1.0
        degree[number, :-lag] += 1.0
    whole = observed.seen + observed.own[:, None] * (near + together @ degree) + steady @ degree
    return np.maximum(whole, 1e-20).astype(np.float32)
