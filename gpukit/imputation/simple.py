"""Simple methods: means, interpolation in time, seasonal means, and trends.

A trend: a series continues beyond its ends from its level, by its slope.

    x(last + h) = level + slope * h

The slope is that of a line by least squares with weights 2^(-age / memory), and the level is the weighted mean of the
values, moved along the slope to the last observation (Brown, "Smoothing, Forecasting and Prediction", 1963). A memory
of 0 is the last value; an endless one is the line through the whole series. Gaps between observations are interpolated.
"""

import numpy as np

from gpukit._pool import map_row_blocks
from gpukit.imputation import scans
from gpukit.imputation.periods import lags_of
from gpukit.imputation.problem import Method, always, in_order, one_setting
from gpukit.imputation.scans import beyond_ends, distances


def fit_two_way(values, seen):
    """Fit values ~ overall + vertices (N, 1) + columns (1, T) by least squares on observed values.

    values (N, T), 0 where not observed. A vertex or column without observations has 0.
    """
    seen = seen.astype(np.float64)
    in_row, in_column = seen.sum(axis=1), seen.sum(axis=0)
    overall = float(values.sum() / max(1, in_row.sum()))
    of_rows, of_columns = values.sum(axis=1) - overall * in_row, values.sum(axis=0) - overall * in_column
    rows, columns = np.zeros(len(in_row)), np.zeros(len(in_column))
    for _ in range(5):
        rows = (of_rows - seen @ columns) / np.maximum(in_row, 1)
        columns = (of_columns - rows @ seen) / np.maximum(in_column, 1)
    return overall, rows[:, None], columns[None, :]


def level(problem, center):
    """Return (N, T) of the mean to subtract: center 'columns' or 'both' (of vertices too)."""
    overall, rows, columns = fit_two_way(problem.values, problem.seen)
    if center == "both":
        return overall + rows + columns
    return np.broadcast_to(column_means(problem, overall), problem.values.shape)


def column_means(problem, overall):
    """Return (1, T) means of observed values; empty columns are interpolated, or have the overall mean."""
    count = problem.seen.sum(axis=0, keepdims=True)
    means = np.divide(
        problem.values.sum(axis=0, keepdims=True), count, out=np.full(count.shape, overall), where=count > 0
    )
    nonempty = count[0] > 0
    if problem.ordered and not nonempty.all():
        means[0] = np.interp(problem.at, problem.at[nonempty], means[0, nonempty])
    return means


def median_of_columns(problem, setting):
    """Return the median over the vertices; empty columns are interpolated, or have the overall median."""
    values, seen = problem.values, problem.seen
    nonempty = seen.any(axis=0)
    median = np.full(len(nonempty), np.median(values[seen]))
    median[nonempty] = np.nanmedian(np.where(seen[:, nonempty], values[:, nonempty], np.nan), axis=0)
    if problem.ordered and not nonempty.all():
        median = np.interp(problem.at, problem.at[nonempty], median[nonempty])
    return np.broadcast_to(median, values.shape)


def interpolation(problem, setting):
    """Interpolate linearly in time; the first and last values extend to the ends."""
    out = np.empty(problem.values.shape)

    def fill_rows(rows):
        out[rows] = scans.line(problem.at, problem.values[rows], problem.seen[rows])

    map_row_blocks(fill_rows, out.shape)
    return out


def limits_of(values, seen):
    """Return (low, high) (N,) of predictions: the observed range of each row, with a quarter of it on either side."""
    low = values.min(axis=1, where=seen, initial=np.inf)
    high = values.max(axis=1, where=seen, initial=-np.inf)
    margin = 0.25 * np.maximum(high - low, 0.0)
    return low - margin, high + margin


def heaviest(adjacency, count):
    """Return csr (N, N) of the `count` heaviest entries of each row; the first of equal weights."""
    from scipy import sparse

    rows = np.repeat(np.arange(adjacency.shape[0]), np.diff(adjacency.indptr))
    order = np.lexsort((adjacency.indices, -adjacency.data, rows))
    rank = np.arange(len(order)) - adjacency.indptr[rows[order]]
    selection = order[rank < count]
    return sparse.csr_matrix(
        (adjacency.data[selection], (rows[selection], adjacency.indices[selection])), adjacency.shape
    )


TWO_PERIODS = "columns in order of time with a period that they hold twice"


def has_two_periods(problem):
    """Return True for series in time with at least two periods."""
    return problem.ordered and 1 < problem.period and 2 * problem.period <= problem.values.shape[1]


def seasonal_settings(problem):
    """Return lags, a period or seven, and the decay of residuals, in columns."""
    lags = lags_of(problem)
    lags = lags or [max(1, problem.period)]
    memories = [None if share is None else share * problem.period for share in (None, 0.25, 0.0)]  # of a period
    return [{"lag": lag, "memory": memory} for lag in lags for memory in memories]


def seasonal(problem, setting):
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
    overall, vertex_effect, of_time = fit_two_way(means, times > 0)
    means = np.where(times > 0, means, overall + vertex_effect + of_time)
    return np.tile(means, rows)[:, :columns]


METHODS = (
    Method("vertex-mean", always, one_setting, lambda problem, _: level(problem, "columns"), host=True),
    Method("vertex-median", always, one_setting, median_of_columns, unjoined=True, host=True),
    Method("two-way-mean", always, one_setting, lambda problem, _: level(problem, "both")),
    Method("interpolation", in_order, one_setting, interpolation, ordered=True, needs="columns in order of time"),
    Method("seasonal", has_two_periods, seasonal_settings, seasonal, ordered=True, needs=TWO_PERIODS),
)


def has_values_beyond_ends(problem):
    """Return True for series in time with values missing beyond their ends."""
    return problem.ordered and bool(beyond_ends(problem.seen).any())


def trend_settings(problem):
    """Return memories of the level and of the slope, in columns; None: endless."""
    short = 0.05 * problem.values.shape[1]  # chosen
    return [
        {"level": level, "slope": slope} for level, slope in ((0.0, None), (None, None), (0.0, short), (short, short))
    ]


def trend(problem, setting):
    """Return (N, T): interpolations between observations, trends beyond them."""
    out = interpolation(problem, {})
    step = float(np.median(np.diff(problem.at))) if len(problem.at) > 1 else 1.0  # the usual one between columns
    times, ends = problem.at / step, beyond_ends(problem.seen)
    for time, part, seen, beyond in (
        (times, out, problem.seen, ends),
        (-times[::-1], out[:, ::-1], problem.seen[:, ::-1], ends[:, ::-1]),
    ):
        rows = np.flatnonzero(beyond[:, -1])
        if len(rows):
            part[rows] = continue_trends(time, part[rows], seen[rows], setting)
    return out


def continue_trends(times, values, seen, setting):
    """Return (n, T) values with trends after the last observation of each row."""
    last = times[seen.shape[1] - 1 - seen[:, ::-1].argmax(axis=1)][:, None]
    age = np.where(seen, last - times, 0.0)
    recent = weights_of(age, seen, setting["slope"])
    total = recent.sum(axis=1, keepdims=True)
    middle = (recent * age).sum(axis=1, keepdims=True) / total
    mean = (recent * values).sum(axis=1, keepdims=True) / total
    squares = (recent * np.square(age - middle)).sum(axis=1, keepdims=True)
    products = (recent * (age - middle) * (values - mean)).sum(axis=1, keepdims=True)
    slope = -np.divide(products, squares, out=np.zeros(squares.shape), where=squares > 0)
    near = weights_of(age, seen, setting["level"])
    level = (near * (values + slope * age)).sum(axis=1, keepdims=True) / near.sum(axis=1, keepdims=True)
    return np.where(times > last, level + slope * (times - last), values)


def weights_of(age, seen, memory):
    """Return weights of observations by their age; those of other entries are 0."""
    if memory == 0:
        return (seen & (age == 0)).astype(np.float64)
    return seen * (1.0 if memory is None else np.exp2(-age / memory))


ENDS = "series in order of time with values missing at their ends"
TREND = Method("trend", has_values_beyond_ends, trend_settings, trend, ordered=True, host=True, needs=ENDS)
