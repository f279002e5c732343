"""Usual change of a series over the distance to its first or last observation.

Beyond an end no later value bounds the error: it grows with the distance, like the change of the series over the same
number of columns. The change is the mean absolute difference of observed values 1, 2, 4, ... columns apart (structure
function). Between these lags it follows a power law; beyond the longest it follows the last power, limited to 0 to 1.
"""

import numpy as np

from gpukit.imputation.auto.gap_kinds import distances
from gpukit.imputation.constants import FEWEST_PAIRS


def changes_beyond(problem, where):
    """Return the usual change of the entries of a mask (N, T), as (values,).

    0 for entries that are not beyond an end.
    """
    beyond = where & beyond_ends(problem.seen) if problem.ordered else np.zeros(where.shape, bool)
    change, rows = np.zeros(where.shape), np.flatnonzero(beyond.any(axis=1))
    if len(rows):
        entries = beyond[rows]
        change[rows] = np.where(entries, usual_change(problem.values[rows], problem.seen[rows]), 0.0)
    return change[where]


def beyond_ends(seen):
    """Return (N, T) bool: entries before the first or after the last observation of a row."""
    has_started = np.logical_or.accumulate(seen, axis=1)
    continues = np.logical_or.accumulate(seen[:, ::-1], axis=1)[:, ::-1]
    return (has_started ^ continues) & (has_started | continues)


def usual_change(values, seen):
    """Return the change of each row over the distance to its nearest observation, (N, T)."""
    changes, distance_log = mean_changes(values, seen), np.log2(np.maximum(distances(seen), 1))
    positive = changes[changes > 0]
    usual = float(np.median(positive)) if len(positive) else 1.0
    out = np.empty(values.shape)
    for target, row, distance in zip(out, changes, distance_log):
        lags = np.flatnonzero(row > 0)
        sizes = np.log2(np.maximum.accumulate(row[lags])) if len(lags) else np.log2([usual])
        power = min(1.0, (sizes[-1] - sizes[-2]) / (lags[-1] - lags[-2])) if len(lags) > 1 else 0.5  # of a random walk
        last = lags[-1] if len(lags) else 0
        within = np.interp(distance, lags, sizes) if len(lags) else sizes[0]
        target[:] = np.exp2(within + power * np.maximum(distance - last, 0.0))
    return out


def mean_changes(values, seen):
    """Return (N, K): mean |difference| of observations 2^k columns apart.

    0 where too few pairs are observed.
    """
    means = []
    for lag in 1 << np.arange(max(1, int(values.shape[1]).bit_length() - 1)):
        both = seen[:, lag:] & seen[:, :-lag]
        count = np.count_nonzero(both, axis=1)
        total = np.where(both, np.abs(values[:, lag:] - values[:, :-lag]), 0.0).sum(axis=1)
        is_enough = count >= (max(FEWEST_PAIRS, lag) if lag > 1 else 1)
        means.append(np.where(is_enough, total / np.maximum(count, 1), 0.0))
    return np.stack(means, axis=1)
