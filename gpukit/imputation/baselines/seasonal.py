"""Seasonal mean of each vertex plus residuals interpolated in time."""

import numpy as np

from gpukit.imputation.auto.gap_kinds import distances
from gpukit.imputation.baselines.means import two_way
from gpukit.imputation.baselines.series import interpolation
from gpukit.imputation.problem import Method
from gpukit.imputation.smoothness.plan import WEEK

MEMORIES = (None, 0.25, 0.0)  # decay times of residuals in periods; None: no decay


def suits(problem):
    """Return True for series in time with at least two periods."""
    return problem.ordered and 1 < problem.period and 2 * problem.period <= problem.values.shape[1]


def settings(problem):
    """Return lags, a period or seven, and the decay of residuals, in columns."""
    lags = [lag for lag in (problem.period, WEEK * problem.period) if 2 * lag <= problem.values.shape[1]]
    lags = lags or [max(1, problem.period)]
    memories = [None if share is None else share * problem.period for share in MEMORIES]
    return [{"lag": lag, "memory": memory} for lag in lags for memory in memories]


def fill(problem, setting):
    """Return (N, T): the seasonal mean plus interpolated residuals."""
    base, memory = profile(problem, setting["lag"]), setting["memory"]
    if memory == 0:
        return base
    line = interpolation(problem._replace(values=np.where(problem.seen, problem.values - base, 0.0)), {})
    if memory is not None:
        line *= np.exp(-distances(problem.seen) / memory)
    return base + line


def profile(problem, lag):
    """Return (N, T): a vertex's mean at each time of the period.

    Times without observations have the vertex's mean plus the time's mean.
    """
    count, columns = problem.values.shape
    lag = min(lag, columns)
    rows = -(-columns // lag)
    values, seen = np.zeros((count, rows * lag)), np.zeros((count, rows * lag))
    values[:, :columns], seen[:, :columns] = problem.values, problem.seen
    times = seen.reshape(count, rows, lag).sum(axis=1)
    means = values.reshape(count, rows, lag).sum(axis=1) / np.maximum(times, 1)
    overall, own, of_time = two_way(means, times > 0)
    means = np.where(times > 0, means, overall + own + of_time)
    return np.tile(means, rows)[:, :columns]


METHODS = (Method("seasonal", suits, settings, fill, ordered=True),)
