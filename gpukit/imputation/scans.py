"""Passes along the rows of a table.

Those whose temporary tables would be many in numpy are compiled. They release the GIL, so that rows may be distributed
(_pool.by_rows). Products and sums round like numpy's.
"""

import functools

import numpy as np

from gpukit._jit import njit
from gpukit._pool import by_rows

scan = functools.partial(njit, nogil=True, fastmath=False)


def some(rows, *tables):
    """Return [contiguous table[rows]]."""
    return [np.ascontiguousarray(table[rows]) for table in tables]


def nearest(seen):
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
        before, after = nearest(seen[rows])
        before[before < 0] = -count
        after[after == count] = 2 * count
        return np.minimum(np.minimum(columns - before, after - columns), count)

    return np.concatenate(by_rows(of_rows, seen.shape))


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


@scan
def line(at, values, seen, out):
    """Interpolate linearly in time: out (n, T) float64 from values (n, T) float64 where seen (n, T) bool.

    at (T,) float64: times. The first and last values extend to the ends. Rows without values become NaN.
    """
    count = seen.shape[1]
    for row in range(len(seen)):
        low = -1
        while low < count:
            high = low + 1
            while high < count and not seen[row, high]:
                high += 1
            left, right = low if low >= 0 else high, high if high < count else low
            for i in range(low + 1, high):
                if left == count:
                    out[row, i] = np.nan
                else:
                    gap = at[right] - at[left]
                    share = (at[i] - at[left]) / gap if gap > 0 else 0.0
                    out[row, i] = values[row, left] + share * (values[row, right] - values[row, left])
            if high < count:
                out[row, high] = values[row, high]
            low = high


@scan
def akima(at, values, seen, out):
    """Interpolate by Akima cubics: out (n, T) float64 between values (n, T) float64 where seen (n, T) bool.

    at (T,) float64: times. out is unchanged beyond the first and last values and in rows with fewer than three.

    Source: Akima, "A new method of interpolation and smooth curve fitting based on local procedures", J. ACM 17 (1970).
    """
    knots = np.empty(seen.shape[1], np.int64)
    slopes = np.empty(seen.shape[1] + 3)  # of the lines between knots, plus two on either side
    for row in range(len(seen)):
        count = 0
        for i in range(seen.shape[1]):
            if seen[row, i] and (count == 0 or at[i] > at[knots[count - 1]]):
                knots[count] = i
                count += 1
        if count < 3:
            continue
        for k in range(count - 1):
            low, high = knots[k], knots[k + 1]
            slopes[k + 2] = (values[row, high] - values[row, low]) / (at[high] - at[low])
        for k in (1, 0):
            slopes[k] = 2.0 * slopes[k + 1] - slopes[k + 2]
        for k in (count + 1, count + 2):
            slopes[k] = 2.0 * slopes[k - 1] - slopes[k - 2]
        begin = tangent(slopes, 0)
        for k in range(count - 1):
            low, high, slope, end = knots[k], knots[k + 1], slopes[k + 2], tangent(slopes, k + 1)
            wide = at[high] - at[low]
            for i in range(low + 1, high):
                if not seen[row, i]:
                    s = (at[i] - at[low]) / wide
                    bow = (begin - slope) * (1.0 - s) - (end - slope) * s
                    out[row, i] = values[row, low] + wide * s * (slope + (1.0 - s) * bow)
            begin = end


@scan
def tangent(slopes, k):
    """Return the derivative at knot k: an average of adjacent slopes that prefers the side with less change."""
    before, after = abs(slopes[k + 1] - slopes[k]), abs(slopes[k + 3] - slopes[k + 2])
    if before + after <= 1e-9 * (abs(slopes[k + 1]) + abs(slopes[k + 2])):
        return 0.5 * (slopes[k + 1] + slopes[k + 2])
    return (after * slopes[k + 1] + before * slopes[k + 2]) / (before + after)


@scan
def ratios(first, neighbors, weights, sums, counts, prior, out):
    """Compute out (n, T) float64: (weighted sums of neighbours + prior) / (weighted counts + prior).

    sums, counts (N, T); first (n + 1,), neighbors (E,), weights (E,) float64: the rows' neighbours as csr. scipy's
    products would allocate float64 tables of both for every few rows.
    """
    above, below = np.empty(out.shape[1]), np.empty(out.shape[1])
    for row in range(len(out)):
        above[:], below[:] = 0.0, 0.0
        for edge in range(first[row], first[row + 1]):
            other, weight = neighbors[edge], weights[edge]
            for i in range(len(above)):
                above[i] += weight * np.float64(sums[other, i])
                below[i] += weight * np.float64(counts[other, i])
        for i in range(len(above)):
            out[row, i] = (above[i] + prior) / (below[i] + prior)


@scan
def smoothed(values, out):
    """Compute out (n, T): the mean of five columns of values (n, T) of out's type; ends repeat the end values."""
    count, five = values.shape[1], out.dtype.type(5)
    for row in range(len(values)):
        for i in range(count):
            total = values[row, max(i - 2, 0)]
            for at in range(i - 1, i + 3):
                total += values[row, min(max(at, 0), count - 1)]
            out[row, i] = total / five


@scan
def by_group(group, order, most, first, out):
    """Write the first `most` members of each group; return their number.

    order (n,) int64: order of the members; out (n,) int64. group (n,) int64: of each member, from 0 to G - 1; first (G
    + 1,) int64, overwritten: start of each group.
    """
    first[:] = 0
    for member in order:
        first[group[member] + 1] += 1
    for g in range(len(first) - 1):
        first[g + 1] = first[g] + min(first[g + 1], most)
    place = first[:-1].copy()
    for member in order:
        g = group[member]
        if place[g] < first[g + 1]:
            out[place[g]] = member
            place[g] += 1
    return first[-1]
