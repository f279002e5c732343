"""Interpolation of each vertex in time: linear, Akima cubics, and the last value."""

import numpy as np

from gpukit._pool import by_rows
from gpukit.imputation import scans
from gpukit.imputation.problem import Method, in_order, one_setting


def interpolation(problem, setting):
    """Interpolate linearly in time; the first and last values extend to the ends."""
    out = np.empty(problem.values.shape)
    by_rows(lambda rows: scans.line(problem.at, *scans.some(rows, problem.values, problem.seen), out[rows]), out.shape)
    return out


def akima(problem, setting):
    """Interpolate by Akima cubics in time; the first and last values extend to the ends."""
    out = interpolation(problem, setting)
    by_rows(lambda rows: scans.akima(problem.at, *scans.some(rows, problem.values, problem.seen), out[rows]), out.shape)
    return out


def last_value(problem, setting):
    """Return the last observed value; before the first observation the first value."""
    places = np.arange(problem.seen.shape[1])
    last = np.maximum.accumulate(np.where(problem.seen, places, -1), axis=1)
    first = problem.seen.argmax(axis=1)[:, None]
    out = np.take_along_axis(problem.values, np.where(last < 0, first, last), axis=1)
    return np.where(problem.seen.any(axis=1, keepdims=True), out, np.nan)


METHODS = (
    Method("interpolation", in_order, one_setting, interpolation, ordered=True),
    Method("akima", in_order, one_setting, akima, ordered=True),
    Method("last-value", in_order, one_setting, last_value, ordered=True),
)
