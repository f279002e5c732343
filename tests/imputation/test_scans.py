"""Compiled passes along rows against numpy, to the bit."""

import numpy as np
import pytest
from scipy import sparse
from scipy.interpolate import Akima1DInterpolator

from gpukit.imputation import scans

SHAPES = [(1, 1), (3, 2), (7, 33), (5, 100)]
SHARES = [0.0, 0.1, 0.6, 1.0]  # of observed values
every = pytest.mark.parametrize("shape, share", [(shape, share) for shape in SHAPES for share in SHARES])


def table(shape, share):
    """Return (rng, seen): partly observed, the last row not at all."""
    rng = np.random.default_rng(int(100 * share) + shape[1])
    seen = rng.random(shape) < share
    seen[-1] &= shape[0] == 1
    return rng, seen


def around(seen):
    """Return (left, right) (n, T): the nearest observed columns.

    At or before, and at or after; -1 and T for none.
    """
    places, count = np.arange(seen.shape[1]), seen.shape[1]
    left = np.maximum.accumulate(np.where(seen, places, -1), axis=1)
    return left, np.minimum.accumulate(np.where(seen, places, count)[:, ::-1], axis=1)[:, ::-1]


@every
def test_a_line_between_what_is_seen(shape, share):
    rng, seen = table(shape, share)
    at, values, count = np.cumsum(rng.random(shape[1])), np.where(seen, rng.normal(size=shape), 0.0), shape[1]
    left, right = around(seen)
    none = left[:, -1] < 0
    left = np.where(left < 0, right, left)
    right = np.where(right == count, left, right)
    left[none] = right[none] = 0
    gap, low = at[right] - at[left], np.take_along_axis(values, left, axis=1)
    part = np.divide(at - at[left], gap, out=np.zeros(gap.shape), where=gap > 0)
    wanted = low + part * (np.take_along_axis(values, right, axis=1) - low)
    wanted[none] = np.nan
    out = np.empty(shape)
    scans.line(at, values, seen, out)
    np.testing.assert_array_equal(out, wanted)


@every
def test_a_curve_between_what_is_seen_is_scipys(shape, share):
    rng, seen = table(shape, share)
    at, values = np.cumsum(rng.random(shape[1]) + 0.01), np.where(seen, rng.normal(size=shape).round(1), 0.0)
    out, line = np.empty((2, *shape))
    scans.line(at, values, seen, line)
    scans.line(at, values, seen, out)
    scans.akima(at, values, seen, out)
    for row, known in enumerate(seen):
        wanted = line[row].copy()
        if known.sum() > 2:
            curve = Akima1DInterpolator(at[known], values[row, known])(at)
            inside = ~known & np.isfinite(curve)
            wanted[inside] = curve[inside]
        np.testing.assert_allclose(out[row], wanted, rtol=1e-9, atol=1e-9)


def test_a_curve_through_times_that_are_there_twice_is_finite():
    at, out = np.array([0.0, 1.0, 1.0, 1.0, 2.0, 3.0, 4.0]), np.zeros((1, 7))
    scans.akima(at, np.arange(7.0)[None], np.array([[1, 1, 1, 0, 1, 0, 1]], bool), out)
    assert np.isfinite(out).all()


@every
def test_columns_seen_before_and_after(shape, share):
    _, seen = table(shape, share)
    left, right = around(seen)
    before, after = np.empty((2, *shape), np.int32)
    scans.find_nearest(seen, before, after)
    np.testing.assert_array_equal(before[:, 1:], left[:, :-1])
    np.testing.assert_array_equal(after[:, :-1], right[:, 1:])
    assert (before[:, 0] == -1).all() and (after[:, -1] == shape[1]).all()


@every
def test_what_a_table_says_of_the_distance(shape, share):
    rng, seen = table(shape, share)
    count, places = shape[1], np.arange(shape[1])
    left, right = around(seen)
    away = np.minimum(np.where(left < 0, count, places - left), np.where(right == count, count, right - places))
    said, out = rng.permutation(count + 1).astype(np.int32), np.empty(shape, np.int32)
    scans.by_distance(seen, said, out)
    np.testing.assert_array_equal(out, said[away])


@every
def test_runs_and_those_without_a_taken_value(shape, share):
    rng, hidden = table(shape, share)
    taken = rng.random(shape) < 0.1
    starts = hidden.copy()
    starts[:, 1:] &= ~hidden[:, :-1]
    number = np.cumsum(starts.ravel())[hidden.ravel()] - 1
    free = np.array([not taken.ravel()[hidden.ravel()][number == one].any() for one in range(starts.sum())], bool)
    wanted, out = np.zeros(shape, bool), np.ones(shape, bool)
    wanted[hidden] = free[number]
    scans.untouched(hidden, taken, out)
    np.testing.assert_array_equal(out, wanted)

    first = np.flatnonzero(starts.ravel()) % shape[1]
    length = np.bincount(number, minlength=len(first)).astype(int)
    found = np.empty(len(number), np.int64)
    scans.runs(hidden, found)
    np.testing.assert_array_equal(found, (first * shape[1] + first + length - 1)[number])


@pytest.mark.parametrize("count", [1, 2, 3, 6, 31])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_means_of_five_columns_are_numpys_to_the_bit(count, dtype):
    values = np.random.default_rng(count).normal(size=(7, count)).astype(dtype)
    padded, found = np.pad(values, ((0, 0), (2, 2)), mode="edge"), np.empty_like(values)
    scans.smoothed(values, found)
    np.testing.assert_array_equal(found, sum(padded[:, at : at + count] for at in range(5)) / 5.0)


def test_ratios_are_those_of_two_products():
    rng = np.random.default_rng(0)
    sums, counts = rng.normal(size=(9, 21)).astype(np.float32), (rng.random((9, 21)) < 0.6).astype(np.float32)
    W = sparse.random_array((6, 9), density=0.4, rng=rng).tocsr()
    out = np.empty((6, 21))
    scans.ratios(W.indptr, W.indices, W.data, sums, counts, 0.15, out)
    np.testing.assert_array_equal(out, (W @ sums + 0.15) / (W @ counts + 0.15))


@every
def test_runs_in_a_list_and_without_some_of_them(shape, share):
    _, hidden = table(shape, share)
    starts, ends = hidden.copy(), hidden.copy()
    starts[:, 1:] &= ~hidden[:, :-1]
    ends[:, :-1] &= ~hidden[:, 1:]
    row, first, end = np.empty((3, starts.sum()), np.int64)
    assert scans.listed(hidden, row, first, end) == len(row)
    np.testing.assert_array_equal([row, first, row, end - 1], [*np.nonzero(starts), *np.nonzero(ends)])
    wanted = hidden.copy()
    for one in range(0, len(row), 2):
        wanted[row[one], first[one] : end[one]] = False
    out = hidden.copy()
    scans.taken_back(row[::2].copy(), first[::2].copy(), end[::2].copy(), out)
    np.testing.assert_array_equal(out, wanted)


@pytest.mark.parametrize("most", [1, 4, 100])
def test_members_group_after_group(most):
    rng = np.random.default_rng(most)
    group, order = rng.choice([0, 2, 3, 6], 50), rng.permutation(50)
    out, first = np.empty(50, np.int64), np.empty(8, np.int64)
    count = scans.by_group(group, order, most, first, out)
    wanted = [order[group[order] == one][:most] for one in range(7)]
    np.testing.assert_array_equal(out[:count], np.concatenate(wanted))
    np.testing.assert_array_equal(first, np.cumsum([0, *map(len, wanted)]))


@pytest.mark.parametrize("share", [0.51, 0.9, 1.0])
def test_a_value_that_most_are(share):
    rng = np.random.default_rng(1)
    values, seen = rng.normal(size=(20, 30)), rng.random((20, 30)) < 0.5
    some = np.argwhere(seen)
    chosen = rng.permutation(some)[: int(np.ceil(share * len(some)))]
    values[~seen] = 9.0
    values[chosen[:, 0], chosen[:, 1]] = 3.0
    assert scans.commonest(values, seen) == (3.0, len(chosen), len(some))


def test_where_no_value_is_most_of_them_one_is_counted():
    values = np.array([[1.0, 2.0, 1.0, 2.0, 3.0]])
    value, alike, count = scans.commonest(values, np.ones((1, 5), bool))
    assert alike == (values == value).sum() <= 2 and count == 5
