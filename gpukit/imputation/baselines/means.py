"""Means and the median: of a column over the vertices, of a vertex over its columns, of both."""

import numpy as np

from gpukit.imputation.problem import Method, always, one_setting

ROUNDS = 5  # of alternating row and column means


def two_way(values, seen):
    """Fit values ~ overall + vertices (N, 1) + columns (1, T) by least squares on observed values.

    values (N, T), 0 where not observed. A vertex or column without observations has 0.
    """
    seen = seen.astype(np.float64)
    in_row, in_column = seen.sum(axis=1), seen.sum(axis=0)
    overall = float(values.sum() / max(1, in_row.sum()))
    of_rows, of_columns = values.sum(axis=1) - overall * in_row, values.sum(axis=0) - overall * in_column
    rows, columns = np.zeros(len(in_row)), np.zeros(len(in_column))
    for _ in range(ROUNDS):
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


def of_columns(problem, setting):
    """Return the mean over the vertices."""
    return level(problem, "columns")


def median_of_columns(problem, setting):
    """Return the median over the vertices; empty columns are interpolated, or have the overall median."""
    values, seen = problem.values, problem.seen
    nonempty = seen.any(axis=0)
    median = np.full(len(nonempty), np.median(values[seen]))
    median[nonempty] = np.nanmedian(np.where(seen[:, nonempty], values[:, nonempty], np.nan), axis=0)
    if problem.ordered and not nonempty.all():
        median = np.interp(problem.at, problem.at[nonempty], median[nonempty])
    return np.broadcast_to(median, values.shape)


def of_vertices(problem, setting):
    """Return the mean over a vertex's columns."""
    count = problem.seen.sum(axis=1, keepdims=True)
    means = np.divide(
        problem.values.sum(axis=1, keepdims=True), count, out=np.full(count.shape, np.nan), where=count > 0
    )
    return np.broadcast_to(means, problem.values.shape)


def of_both(problem, setting):
    """Return the sum of vertex and column means."""
    return level(problem, "both")


METHODS = (
    Method("vertex-mean", always, one_setting, of_columns, alone=True),
    Method("vertex-median", always, one_setting, median_of_columns, alone=True, unjoined=True),
    Method("time-mean", always, one_setting, of_vertices),
    Method("two-way-mean", always, one_setting, of_both),
)
