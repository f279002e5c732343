"""Conjugate gradients for given weights, for both devices."""

import numpy as np

from gpukit.imputation.smoothness.graph import laplacian_of
from gpukit.imputation.smoothness.plan import STEPS, TOLERANCE, WEEK
from gpukit.imputation.smoothness.steps import Observed


def ground_of(problem, rest, alike):
    """Return the steps.Observed of a problem.

    rest (N, T) float32: its values, 0 where missing; alike: see graph.laplacian_of.
    """
    L = laplacian_of(problem.adjacency, rest, problem.seen, alike)
    lags = np.array([1, *lags_of(problem)], np.int32)
    edges = L.indptr.astype(np.int32), L.indices.astype(np.int32), L.data.astype(np.float32)
    return Observed(rest, problem.seen, gaps_of(problem.at), lags, *edges, L.diagonal().astype(np.float32))


def lags_of(problem):
    """Return lags of a period and of seven, if two of them are present."""
    lags = (problem.period, WEEK * problem.period)
    return [lag for lag in lags if lag > 1 and 2 * lag <= problem.values.shape[1]]


def gaps_of(at):
    """Return (T,) float32: the median distance of columns over the distance to the next, the last 0."""
    apart = np.diff(at)
    return np.append(np.median(apart) / apart if len(apart) else apart, 0.0).astype(np.float32)


def solve(session, ground, weights, tolerance=TOLERANCE, steps=STEPS):
    """Solve from the session's last solution for weights (plan.Weights); return the number of steps."""
    near, steady, together = laws(weights)
    inverse = 1.0 / diagonal(ground, near, steady, together)
    goal = tolerance**2 * float(np.vdot(ground.values * inverse, ground.values).real)
    session.weigh(near, steady, together, inverse)
    session.image()
    size = session.advance(1.0)
    session.redirect(0.0)
    for step in range(steps):
        if size <= goal:
            return step
        last, curve = size, session.image()
        if curve <= 0.0:
            return step
        size = session.advance(last / curve)
        session.redirect(size / last)
    return steps


def laws(weights):
    """Return (a, b_k, c_k) in the form of kernels.differ."""
    scale = np.array([1.0, *weights.repeats])
    return (
        np.float32(weights.near),
        (weights.steady * scale).astype(np.float32),
        (weights.together * scale).astype(np.float32),
    )


def diagonal(ground, near, steady, together):
    """Return (N, T) float32: the diagonal of the product, above 0."""
    count = ground.values.shape[1]
    degree = np.zeros((len(ground.lags), count), np.float32)
    degree[0] = ground.gaps
    degree[0, 1:] += ground.gaps[:-1]
    for number, lag in enumerate(ground.lags[1:], 1):
        degree[number, lag:] += 1.0
        degree[number, :-lag] += 1.0
    whole = ground.seen + ground.own[:, None] * (near + together @ degree) + steady @ degree
    return np.maximum(whole, 1e-20).astype(np.float32)
