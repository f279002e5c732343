"""Passes along rows against plain loops."""

import numpy as np
import pytest

from gpukit.imputation import scans
from gpukit.imputation.auto import masking
from gpukit.imputation.auto.judging import NEVER, Fold
from gpukit.imputation.auto.uncertainty import smooth
from gpukit.imputation.scans import distances

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
    np.testing.assert_array_equal(scans.line(at, values, seen), wanted)


@every
def test_nearest_observed_columns_and_their_distance(shape, share):
    _, seen = table(shape, share)
    before, after = scans.nearest_observed(seen)
    away = distances(seen)
    assert before.dtype == after.dtype == away.dtype == np.int32
    for row, column in np.ndindex(shape):
        observed = np.flatnonzero(seen[row])
        assert before[row, column] == max(observed[observed <= column], default=-1)
        assert after[row, column] == min(observed[observed >= column], default=shape[1])
        assert away[row, column] == min(np.abs(observed - column), default=shape[1])


def runs_of(hidden):
    """Return [(row, first, end)] of the runs of hidden values."""
    found = []
    for row, column in np.argwhere(hidden):
        if found and found[-1][0] == row and found[-1][2] == column:
            found[-1][2] += 1
        else:
            found.append([row, column, column + 1])
    return found


@every
def test_runs_and_those_without_a_blocked_value(shape, share):
    rng, hidden = table(shape, share)
    blocked = rng.random(shape) < 0.1
    runs = runs_of(hidden)
    np.testing.assert_array_equal(np.transpose(scans.runs(hidden)), np.reshape(runs, (-1, 3)))
    wanted = np.zeros(shape, bool)
    for row, first, end in runs:
        wanted[row, first:end] = not blocked[row, first:end].any()
    np.testing.assert_array_equal(masking.keep_untouched(hidden, blocked), wanted)


@every
def test_units_of_hidden_values(shape, share):
    rng, hidden = table(shape, share)
    kinds = rng.integers(0, 3, np.count_nonzero(hidden))
    runs = [
        (row, shape[0] + first * shape[1] + end - 1) for row, first, end in runs_of(hidden) for _ in range(first, end)
    ]
    wanted = [row if kind == NEVER else run for kind, (row, run) in zip(kinds, runs)]
    np.testing.assert_array_equal(Fold(hidden, None, None).units(kinds), wanted)


@pytest.mark.parametrize("count", [1, 2, 3, 6, 31])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_means_of_five_columns(count, dtype):
    values = np.random.default_rng(count).normal(size=(7, count)).astype(dtype)
    places = np.clip(np.arange(count)[:, None] + np.arange(-2, 3), 0, count - 1)
    found = smooth(values)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, values[:, places].mean(axis=2), rtol=1e-4, atol=1e-6)
