"""Along time, each vertex by itself: linear interpolation, and the last value."""

import numpy as np

from gpukit._pool import by_rows
from gpukit.imputation.problem import Method, in_order, one_setting


def interpolation(problem, setting):
    """Linear in time between what is observed; beyond the first and the last of them their values."""
    out = np.empty(problem.values.shape)

    def drawn(rows):
        out[rows] = line(problem.at, problem.values[rows], problem.seen[rows])

    by_rows(drawn, out.shape)
    return out


def line(at, values, seen):
    """(N, T) float64: interpolation() of values where seen; NaN in rows of which nothing is."""
    places, count = np.arange(len(at)), len(at)
    left = np.maximum.accumulate(np.where(seen, places, -1), axis=1)
    right = np.minimum.accumulate(np.where(seen, places, count)[:, ::-1], axis=1)[:, ::-1]
    none = left[:, -1] < 0
    left = np.where(left < 0, right, left)
    right = np.where(right == count, left, right)
    left[none] = right[none] = 0
    gap, low = at[right] - at[left], np.take_along_axis(values, left, axis=1)
    share = np.divide(at - at[left], gap, out=np.zeros(gap.shape), where=gap > 0)
    out = low + share * (np.take_along_axis(values, right, axis=1) - low)
    out[none] = np.nan
    return out


def last_value(problem, setting):
    """What was observed last; before the first of it the first."""
    places = np.arange(problem.seen.shape[1])
    last = np.maximum.accumulate(np.where(problem.seen, places, -1), axis=1)
    first = problem.seen.argmax(axis=1)[:, None]
    out = np.take_along_axis(problem.values, np.where(last < 0, first, last), axis=1)
    return np.where(problem.seen.any(axis=1, keepdims=True), out, np.nan)


METHODS = (
    Method("interpolation", in_order, one_setting, interpolation, ordered=True),
    Method("last-value", in_order, one_setting, last_value, ordered=True),
)
