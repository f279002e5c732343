"""What a vertex usually is at that time of the period, and what is left of that interpolated in time."""

import numpy as np

from gpukit.imputation.auto.gap_kinds import distances
from gpukit.imputation.baselines.means import two_way
from gpukit.imputation.baselines.series import interpolation
from gpukit.imputation.problem import Method
from gpukit.imputation.smoothness.plan import WEEK

MEMORIES = (None, 0.25, 0.0)  # periods in which what is left fades to a third; None: it does not


def suits(problem):
    """Series in time with a period that was seen twice."""
    return problem.ordered and 1 < problem.period and 2 * problem.period <= problem.values.shape[1]


def settings(problem):
    """The columns after which things repeat, a period or seven, and how long what is left lasts, in columns."""
    lags = [lag for lag in (problem.period, WEEK * problem.period) if 2 * lag <= problem.values.shape[1]]
    lags = lags or [max(1, problem.period)]
    memories = [None if share is None else share * problem.period for share in MEMORIES]
    return [{"lag": lag, "memory": memory} for lag in lags for memory in memories]


def fill(problem, setting):
    """(N, T): the profile, and beside observed values what these differ from it."""
    base, memory = profile(problem, setting["lag"]), setting["memory"]
    if memory == 0:
        return base
    line = interpolation(problem._replace(values=np.where(problem.seen, problem.values - base, 0.0)), {})
    if memory is not None:
        line *= np.exp(-distances(problem.seen) / memory)
    return base + line


def profile(problem, lag):
    """(N, T): the mean of a vertex at a time of the period; where it was never seen then, its own mean and that of the
    time."""
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
