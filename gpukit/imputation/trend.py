"""Damped trend: a series continues beyond its ends from its level, by a slope that fades.

    x(last + h) = level + slope * (1 - exp(-h / fade)) * fade          slope * h for a trend that does not fade

The slope is that of a line by least squares with weights 2^(-age / memory), and the level is the weighted mean of the
values, moved along the slope to the last observation (Brown, "Smoothing, Forecasting and Prediction", 1963; the damping
is that of Gardner and McKenzie, Management Science 31, 1985). A memory of 0 is the last value; an endless one is the
line through the whole series. Gaps between observations are interpolated.
"""

import numpy as np

from gpukit.imputation.auto.growth import beyond_ends
from gpukit.imputation.problem import Method
from gpukit.imputation.simple import interpolation

MEMORY, FADE = 0.05, 0.1  # of a slope and of a trend, relative to the columns; chosen


def suits(problem):
    """Return True for series in time with values missing beyond their ends."""
    return problem.ordered and bool(beyond_ends(problem.seen).any())


def settings(problem):
    """Return memories of the level and of the slope, and fades, in columns; None: endless."""
    span = problem.values.shape[1]
    levels = [(0.0, None), (None, None), (0.0, MEMORY * span), (MEMORY * span, MEMORY * span)]
    return [{"level": level, "slope": slope, "fade": fade} for level, slope in levels for fade in (None, FADE * span)]


def fill(problem, setting):
    """Return (N, T): interpolations between observations, damped trends beyond them."""
    out = interpolation(problem, {})
    at, ends = problem.at / step_of(problem.at), beyond_ends(problem.seen)
    for time, part, seen, beyond in (
        (at, out, problem.seen, ends),
        (-at[::-1], out[:, ::-1], problem.seen[:, ::-1], ends[:, ::-1]),
    ):
        rows = np.flatnonzero(beyond[:, -1])
        if len(rows):
            part[rows] = continued(time, part[rows], seen[rows], setting)
    return out


def step_of(at):
    """Return the usual step between columns."""
    return float(np.median(np.diff(at))) if len(at) > 1 else 1.0


def continued(at, values, seen, setting):
    """Return (n, T) values with damped trends after the last observation of each row."""
    last = at[seen.shape[1] - 1 - seen[:, ::-1].argmax(axis=1)][:, None]
    age = np.where(seen, last - at, 0.0)
    recent = weights_of(age, seen, setting["slope"])
    total = recent.sum(axis=1, keepdims=True)
    middle = (recent * age).sum(axis=1, keepdims=True) / total
    mean = (recent * values).sum(axis=1, keepdims=True) / total
    squares = (recent * np.square(age - middle)).sum(axis=1, keepdims=True)
    products = (recent * (age - middle) * (values - mean)).sum(axis=1, keepdims=True)
    slope = -np.divide(products, squares, out=np.zeros(squares.shape), where=squares > 0)
    near = weights_of(age, seen, setting["level"])
    level = (near * (values + slope * age)).sum(axis=1, keepdims=True) / near.sum(axis=1, keepdims=True)
    ahead, fade = np.maximum(at - last, 0.0), setting["fade"]
    reach = ahead if fade is None else fade * (1.0 - np.exp(-ahead / fade))
    return np.where(ahead > 0, level + slope * reach, values)


def weights_of(age, seen, memory):
    """Return weights of observations by their age; those of other entries are 0."""
    if memory == 0:
        return (seen & (age == 0)).astype(np.float64)
    return seen * (1.0 if memory is None else np.exp2(-age / memory))


METHOD = Method("trend", suits, settings, fill, ordered=True, host=True)
