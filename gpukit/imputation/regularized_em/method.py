"""The method 'regularized-em'."""

import numpy as np

from gpukit.imputation.auto.judging import simple
from gpukit.imputation.problem import Method
from gpukit.imputation.regularized_em.normal import completed

RIDGES = (1e-6, 1e-4, 1e-3, 1e-2, 1e-1)  # of a vertex's variance
FEWEST = 4  # columns
MOST_WORK = 1 << 26  # of a round
MARGIN = 0.25  # of a vertex's range, added on either side as limits


def suits(problem):
    """Return True for two or more partly observed vertices, if the cost of a round is acceptable."""
    alive = problem.seen.any(axis=1)
    enough = alive.sum() > 1 and problem.values.shape[1] >= FEWEST and not problem.seen[alive].all()
    return bool(enough and work(problem, 0) <= MOST_WORK)


def work(problem, lags):
    """Return the additions of a round, about: n^2 T + n^3."""
    count, columns = problem.values.shape
    rows = count * (1 + 2 * lags)
    return rows**2 * (columns + rows)


def settings(problem):
    """Return numbers of columns on either side and ridges."""
    most = 1 if problem.ordered and work(problem, 1) <= MOST_WORK else 0
    return [{"lags": lags, "ridge": ridge} for lags in range(most + 1) for ridge in RIDGES]


def fill(problem, setting):
    """Return (N, T) predictions; NaN for unobserved vertices."""
    alive = problem.seen.any(axis=1)
    out = np.full(problem.values.shape, np.nan)
    if alive.any():
        out[alive] = of_alive(simple(problem)[alive], problem.seen[alive], setting)
    return out


def of_alive(series, seen, setting):
    """Return (N, T) of observed vertices; series are filled in by a simple method where not seen (N, T)."""
    mean = series.mean(axis=1, keepdims=True, where=seen)
    scale = series.std(axis=1, keepdims=True, where=seen)
    scale[scale <= 0] = 1.0
    series = (series - mean) / scale
    least = series.min(axis=1, where=seen, initial=np.inf)
    most = series.max(axis=1, where=seen, initial=-np.inf)
    margin = MARGIN * (most - least)
    limits = np.stack([least - margin, most + margin], axis=1)
    for lags in range(setting["lags"] + 1):
        series = completed(series, seen, lags, setting["ridge"], limits)
    return series * scale + mean


METHOD = Method("regularized-em", suits, settings, fill, host=True)
