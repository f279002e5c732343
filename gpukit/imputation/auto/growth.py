"""Usual change of a series over the distance to its first or last observation, for values beyond it.

Beyond an end nothing limits the error from the other side: it grows with the distance, as the series' own values do
over as many columns. The change is the mean absolute difference of observed values 1, 2, 4, ... columns apart (the
structure function), between these by a power law, and beyond the longest by the last power, from 0 to 1.
"""

import numpy as np

from gpukit.imputation.auto.gap_kinds import distances

FEWEST = 3  # pairs of values, or as many as columns are between them
USUAL_POWER = 0.5  # of a random walk, where a series has one distance


def changes_beyond(problem, where):
    """(values,) of the entries of a mask (N, T): the usual change over the distance; 0 where none is beyond an end."""
    beyond = where & beyond_ends(problem.seen) if problem.ordered else np.zeros(where.shape, bool)
    change, rows = np.zeros(where.shape), np.flatnonzero(beyond.any(axis=1))
    if len(rows):
        some = beyond[rows]
        change[rows] = np.where(some, usual_change(problem.values[rows], problem.seen[rows]), 0.0)
    return change[where]


def beyond_ends(seen):
    """(N, T) bool: before the first and after the last observed value of rows (N, T) that have any."""
    begun = np.logical_or.accumulate(seen, axis=1)
    ended = np.logical_or.accumulate(seen[:, ::-1], axis=1)[:, ::-1]
    return (begun ^ ended) & (begun | ended)


def usual_change(values, seen):
    """(N, T) changes of each row over the distance to its nearest observed value."""
    changes, apart = mean_changes(values, seen), np.log2(np.maximum(distances(seen), 1))
    known = changes[changes > 0]
    usual = float(np.median(known)) if len(known) else 1.0
    out = np.empty(values.shape)
    for place, row, distance in zip(out, changes, apart):
        lags = np.flatnonzero(row > 0)
        sizes = np.log2(np.maximum.accumulate(row[lags])) if len(lags) else np.log2([usual])
        power = min(1.0, (sizes[-1] - sizes[-2]) / (lags[-1] - lags[-2])) if len(lags) > 1 else USUAL_POWER
        last = lags[-1] if len(lags) else 0
        within = np.interp(distance, lags, sizes) if len(lags) else sizes[0]
        place[:] = np.exp2(within + power * np.maximum(distance - last, 0.0))
    return out


def mean_changes(values, seen):
    """(N, K): mean |difference| of observed values 2^k columns apart; 0 where too few pairs are observed."""
    found = []
    for lag in 1 << np.arange(max(1, int(values.shape[1]).bit_length() - 1)):
        both = seen[:, lag:] & seen[:, :-lag]
        count = np.count_nonzero(both, axis=1)
        total = np.where(both, np.abs(values[:, lag:] - values[:, :-lag]), 0.0).sum(axis=1)
        enough = count >= (max(FEWEST, lag) if lag > 1 else 1)
        found.append(np.where(enough, total / np.maximum(count, 1), 0.0))
    return np.stack(found, axis=1)
