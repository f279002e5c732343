"""Passes along the rows of a table, compiled: what numpy needs a dozen tables of its own for, and many threads wait
for each other's memory. They hold no lock, so that rows may be shared out (_pool.by_rows); products and sums are
rounded as numpy does it."""

import functools

import numpy as np

from gpukit._jit import njit

scan = functools.partial(njit, nogil=True, fastmath=False)


def some(rows, *tables):
    """[table[rows]] as the passes take them."""
    return [np.ascontiguousarray(table[rows]) for table in tables]


@scan
def line(at, values, seen, out):
    """out (n, T) float64: values (n, T) float64 where seen (n, T) bool, a straight line in time at (T,) float64 between
    them; beyond the first and the last of them their values; NaN in rows of which nothing is seen."""
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
    """out (n, T) float64: a cubic between every two values (n, T) float64 that are seen (n, T) bool, in time at (T,)
    float64; what it holds beyond the first and the last of them, and in rows with fewer than three, stays.

    Source: Akima, "A new method of interpolation and smooth curve fitting based on local procedures", J. ACM 17 (1970).
    """
    knots = np.empty(seen.shape[1], np.int64)
    slopes = np.empty(seen.shape[1] + 3)  # of the lines between knots, two more on either side
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
    """The derivative at knot k: of the lines on either side, the more of one the less it differs from the next."""
    before, after = abs(slopes[k + 1] - slopes[k]), abs(slopes[k + 3] - slopes[k + 2])
    if before + after <= 1e-9 * (abs(slopes[k + 1]) + abs(slopes[k + 2])):
        return 0.5 * (slopes[k + 1] + slopes[k + 2])
    return (after * slopes[k + 1] + before * slopes[k + 2]) / (before + after)


@scan
def beside(seen, before, after):
    """before, after (n, T) int32: the columns seen (n, T) bool last before and first after each; -1 and T for none."""
    count = seen.shape[1]
    for row in range(len(seen)):
        last = -1
        for i in range(count):
            before[row, i] = last
            if seen[row, i]:
                last = i
        last = count
        for i in range(count - 1, -1, -1):
            after[row, i] = last
            if seen[row, i]:
                last = i


@scan
def by_distance(seen, table, out):
    """out (n, T): of table (T + 1,) the entry whose number is that of columns to the nearest one seen (n, T) bool of
    the row; the last where there is none."""
    count = seen.shape[1]
    for row in range(len(seen)):
        low = -count
        while low < count:
            high = max(low + 1, 0)
            while high < count and not seen[row, high]:
                high += 1
            end = high if high < count else 2 * count
            for i in range(max(low + 1, 0), high):
                out[row, i] = table[min(i - low, end - i, count)]
            if high < count:
                out[row, high] = table[0]
            low = high


@scan
def untouched(hidden, taken, out):
    """out (n, T) bool, overwritten: hidden (n, T) without its runs that have a value taken (n, T)."""
    count = hidden.shape[1]
    for row in range(len(hidden)):
        i = 0
        while i < count:
            end, free = i, True
            while end < count and hidden[row, end]:
                free &= not taken[row, end]
                end += 1
            for at in range(i, end):
                out[row, at] = free
            if end < count:
                out[row, end] = False
            i = end + 1


@scan
def runs(hidden, out):
    """out (values,) int64: of the values hidden (N, T), row after row, the first column of their run times T, and its
    last."""
    count, number = hidden.shape[1], 0
    for row in range(len(hidden)):
        i = 0
        while i < count:
            end = i
            while end < count and hidden[row, end]:
                end += 1
            for _ in range(i, end):
                out[number] = i * count + end - 1
                number += 1
            i = end + 1


@scan
def ratios(first, neighbors, weights, sums, counts, prior, out):
    """out (n, T) float64: the weighted sums of a row's neighbours in sums (N, T) over those in counts (N, T), to each
    of which prior is added; first (n + 1,), neighbors (E,), weights (E,) float64: of each row its neighbours, as csr.

    As scipy's products, which would make float64 tables of both for every few rows.
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
    """out (n, T): the mean of five columns of values (n, T) of out's type, the first and the last standing for those
    beyond them."""
    count, five = values.shape[1], out.dtype.type(5)
    for row in range(len(values)):
        for i in range(count):
            total = values[row, max(i - 2, 0)]
            for at in range(i - 1, i + 3):
                total += values[row, min(max(at, 0), count - 1)]
            out[row, i] = total / five


@scan
def listed(hidden, row, first, end):
    """How many runs of hidden (N, T) bool there are; of each, row after row, row, first, end (runs,) int64: where it
    is, its first column and the one after its last."""
    count, number = hidden.shape[1], 0
    for at in range(len(hidden)):
        i = 0
        while i < count:
            if hidden[at, i]:
                row[number], first[number] = at, i
                while i < count and hidden[at, i]:
                    i += 1
                end[number] = i
                number += 1
            i += 1
    return number


@scan
def taken_back(row, first, end, out):
    """out (N, T) bool False in runs as listed() has them."""
    for number in range(len(row)):
        for i in range(first[number], end[number]):
            out[row[number], i] = False


@scan
def by_group(group, order, most, first, out):
    """The members of an order (n,) int64 group after group, each group's in their order, the first `most` of it: how
    many they are, which then begin out (n,) int64. group (n,) int64: each member's, from 0 to G - 1; first (G + 1,)
    int64, overwritten: where each group begins."""
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


@scan
def commonest(values, seen):
    """(value, how many there are of it, how many values there are) of values (N, T) where seen (N, T) bool: the one
    that more than half of them are, if there is such a value, else one of them.

    Source: Boyer, Moore, "MJRTY: a fast majority vote algorithm" (1981).
    """
    best, votes, count, alike = 0.0, 0, 0, 0
    for row in range(len(values)):
        for i in range(values.shape[1]):
            if seen[row, i]:
                count += 1
                if votes == 0:
                    best = values[row, i]
                votes += 1 if values[row, i] == best else -1
    for row in range(len(values)):
        for i in range(values.shape[1]):
            alike += seen[row, i] and values[row, i] == best
    return best, alike, count
