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
from gpukit.imputation.constants import BLOCK_NUMBERS
from gpukit.imputation.periods import lags_of
from gpukit.imputation.problem import Method, always, in_order, one_setting
from gpukit.imputation.scans import beyond_ends, distances


def fit_two_way(values, seen):
    """Fit values ~ overall + vertices (N, 1) + columns (1, T) by least squares on observed values.

    values (N, T), 0 where not observed. A vertex or column without observations has 0.
    """
    in_row, in_column = np.count_nonzero(seen, axis=1), np.count_nonzero(seen, axis=0)
    overall = float(values.sum() / max(1, in_row.sum()))
    of_rows, of_columns = values.sum(axis=1) - overall * in_row, values.sum(axis=0) - overall * in_column
    rows, columns = np.zeros(len(in_row)), np.zeros(len(in_column))

    def fit_rows(block):
        """Fit the rows of a block; return the sums of them in the columns."""
        part = seen[block].astype(np.float64)
        rows[block] = (of_rows[block] - part @ columns) / np.maximum(in_row[block], 1)
        return rows[block] @ part

    for _ in range(5):
        columns = (of_columns - sum(map_row_blocks(fit_rows, seen.shape))) / np.maximum(in_column, 1)
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
    median = np.full(len(nonempty), 0.0 if nonempty.all() else np.median(values[seen]))
    columns, each = np.flatnonzero(nonempty), max(1, BLOCK_NUMBERS // len(values))
    for block in (columns[first : first + each] for first in range(0, len(columns), each)):
        median[block] = np.nanmedian(np.where(seen[:, block], values[:, block], np.nan), axis=0)
    if problem.ordered and not nonempty.all():
        median = np.interp(problem.at, problem.at[nonempty], median[nonempty])
    return np.broadcast_to(median, values.shape)


def interpolation(problem, setting, dtype=np.float64):
    """Interpolate linearly in time; the first and last values extend to the ends."""
    out = np.empty(problem.values.shape, dtype)

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

    def select_rows(rows):
        """Return (lengths of the rows of a block, their data, indices)."""
        part = adjacency[rows]
        row = np.repeat(np.arange(part.shape[0]), np.diff(part.indptr))
        order = np.lexsort((part.indices, -part.data, row))
        selection = np.sort(order[np.arange(len(order)) - part.indptr[row[order]] < count])
        return np.bincount(row[selection], minlength=part.shape[0]), part.data[selection], part.indices[selection]

    shape = adjacency.shape[0], max(1, adjacency.nnz // adjacency.shape[0])
    lengths, data, indices = map(np.concatenate, zip(*map_row_blocks(select_rows, shape)))
    pointers = np.r_[0, np.cumsum(lengths)].astype(adjacency.indptr.dtype)
    result = sparse.csr_matrix((data, indices, pointers), adjacency.shape)
    result.sort_indices()
    return result


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
    lag, memory = min(setting["lag"], problem.values.shape[1]), setting["memory"]
    means, phases = seasonal_means(problem, lag), np.arange(problem.values.shape[1]) % lag
    out = np.empty(problem.values.shape)

    def fill_rows(rows):
        out[rows], seen = means[rows][:, phases], problem.seen[rows]
        if memory == 0:
            return
        line = scans.line(problem.at, np.where(seen, problem.values[rows] - out[rows], 0.0), seen)
        if memory is not None:
            line *= np.exp(-distances(seen) / memory)
        out[rows] += line

    map_row_blocks(fill_rows, out.shape)
    return out


def seasonal_means(problem, lag):
    """Return (N, lag): a vertex's mean at each time of the period.

    Times without observations have the vertex's mean plus the time's mean.
    """
    count, columns = problem.values.shape
    periods = -(-columns // lag)
    means, has_values = np.empty((count, lag)), np.empty((count, lag), bool)

    def fill_rows(rows):
        values, seen = np.zeros((2, len(problem.values[rows]), periods * lag))
        values[:, :columns], seen[:, :columns] = problem.values[rows], problem.seen[rows]
        times = seen.reshape(-1, periods, lag).sum(axis=1)
        means[rows] = values.reshape(-1, periods, lag).sum(axis=1) / np.maximum(times, 1)
        has_values[rows] = times > 0

    map_row_blocks(fill_rows, problem.values.shape)
    overall, vertex_effect, of_time = fit_two_way(means, has_values)
    return np.where(has_values, means, overall + vertex_effect + of_time)


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
    out = np.empty(problem.values.shape)
    step = float(np.median(np.diff(problem.at))) if len(problem.at) > 1 else 1.0  # the usual one between columns
    times = problem.at / step

    def fill_rows(rows):
        part, seen = scans.line(problem.at, problem.values[rows], problem.seen[rows]), problem.seen[rows]
        ends = beyond_ends(seen)
        for time, values, known, beyond in (
            (times, part, seen, ends),
            (-times[::-1], part[:, ::-1], seen[:, ::-1], ends[:, ::-1]),
        ):
            index = np.flatnonzero(beyond[:, -1])
            if len(index):
                values[index] = continue_trends(time, values[index], known[index], setting)
        out[rows] = part

    map_row_blocks(fill_rows, out.shape)
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
