"""Passes along the rows of a table: nearest observed columns, runs of missing values, interpolation."""

import numpy as np

from gpukit._pool import map_row_blocks


def nearest_observed(seen):
    """Return the nearest observed columns (n, T) int32, at or before and at or after each; -1 and T for none.

    seen (n, T) bool.
    """
    count = seen.shape[1]
    columns = np.arange(count, dtype=np.int32)
    before = np.maximum.accumulate(np.where(seen, columns, np.int32(-1)), axis=1)
    after = np.minimum.accumulate(np.where(seen, columns, np.int32(count))[:, ::-1], axis=1)[:, ::-1]
    return before, after


def distances(seen):
    """Return the distance to the nearest observed column of a row, (N, T) int32.

    T where a row has no observed column.
    """
    count = seen.shape[1]
    columns = np.arange(count, dtype=np.int32)

    def of_rows(rows):
        before, after = nearest_observed(seen[rows])
        before[before < 0] = -count
        after[after == count] = 2 * count
        return np.minimum(np.minimum(columns - before, after - columns), count)

    return np.concatenate(map_row_blocks(of_rows, seen.shape))


def beyond_ends(seen):
    """Return (N, T) bool: entries before the first or after the last observation of a row."""
    has_started = np.logical_or.accumulate(seen, axis=1)
    continues = np.logical_or.accumulate(seen[:, ::-1], axis=1)[:, ::-1]
    return (has_started ^ continues) & (has_started | continues)


def runs(mask):
    """Return (row, first column, end) (runs,) int64 of the runs of a mask (N, T) bool, row by row."""
    edges = np.diff(np.pad(mask, ((0, 0), (1, 1))).view(np.int8), axis=1)
    row, first = np.nonzero(edges == 1)
    return row, first, np.nonzero(edges == -1)[1]


def line(times, values, seen):
    """Return values (n, T) interpolated linearly in time where not seen (n, T) bool.

    times (T,) float64: of the columns. The first and last values extend to the ends. Rows without values become NaN.
    """
    left, right = nearest_observed(seen)
    left, right = np.where(left < 0, right, left), np.where(right == len(times), left, right)
    left[~seen.any(axis=1)] = right[~seen.any(axis=1)] = 0
    low, high = (np.take_along_axis(values, end, axis=1) for end in (left, right))
    gap = times[right] - times[left]
    out = low + np.divide(times - times[left], gap, out=np.zeros(gap.shape), where=gap > 0) * (high - low)
    out[~seen.any(axis=1)] = np.nan
    return out
