"""Simple methods: means, interpolation in time, seasonal means."""

import numpy as np

from gpukit._pool import by_rows
from gpukit.imputation import scans
from gpukit.imputation.auto.gap_kinds import distances
from gpukit.imputation.periods import lags_of
from gpukit.imputation.problem import Method, always, in_order, one_setting


def two_way(values, seen):
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
    overall, rows, columns = two_way(problem.values, problem.seen)
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
    by_rows(lambda rows: scans.line(problem.at, *scans.some(rows, problem.values, problem.seen), out[rows]), out.shape)
    return out


def akima(problem, setting):
    """Interpolate by Akima cubics in time; the first and last values extend to the ends."""
    out = interpolation(problem, setting)
    by_rows(lambda rows: scans.akima(problem.at, *scans.some(rows, problem.values, problem.seen), out[rows]), out.shape)
    return out


def heaviest(adjacency, count):
    """Return csr (N, N) of the `count` heaviest entries of each row; the first of equal weights."""
    from scipy import sparse

    rows = np.repeat(np.arange(adjacency.shape[0]), np.diff(adjacency.indptr))
    order = np.lexsort((adjacency.indices, -adjacency.data, rows))
    rank = np.arange(len(order)) - adjacency.indptr[rows[order]]
    kept = order[rank < count]
    return sparse.csr_matrix((adjacency.data[kept], (rows[kept], adjacency.indices[kept])), adjacency.shape)


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
    overall, own, of_time = two_way(means, times > 0)
    means = np.where(times > 0, means, overall + own + of_time)
    return np.tile(means, rows)[:, :columns]


METHODS = (
    Method("vertex-mean", always, one_setting, lambda problem, _: level(problem, "columns"), alone=True),
    Method("vertex-median", always, one_setting, median_of_columns, alone=True, unjoined=True),
    Method("two-way-mean", always, one_setting, lambda problem, _: level(problem, "both")),
    Method("interpolation", in_order, one_setting, interpolation, ordered=True),
    Method("akima", in_order, one_setting, akima, ordered=True),
    Method("seasonal", has_two_periods, seasonal_settings, seasonal, ordered=True),
)
