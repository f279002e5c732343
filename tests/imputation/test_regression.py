"""Regression of series on other series, their lags and time."""

import numpy as np
import pytest
from scipy import sparse

from gpukit.imputation import regression
from imputation.auto.test_auto import asked


def related(columns=90, seed=0):
    """(4, T): three random walks, and a series of their sum, of one a column before, and of time."""
    rng = np.random.default_rng(seed)
    walks = np.cumsum(rng.normal(size=(3, columns)), axis=1)
    total = walks[0] + 2.0 * walks[1] + 3.0 * np.r_[walks[2, :1], walks[2, :-1]] + 0.1 * np.arange(columns)
    return np.vstack([walks, total])


@pytest.mark.parametrize("gap", [slice(70, None), slice(0, 20), slice(40, 55)])
def test_sums_with_lags_are_found(gap):
    values = related()
    seen = np.ones(values.shape, bool)
    seen[3, gap] = False
    filled = regression.fill(asked(np.where(seen, values, 0.0), seen), {})
    error, spread = np.abs(filled - values)[3, gap].mean(), values[3].std()
    assert error < 0.03 * spread


def test_fits_are_those_of_ridge_regression():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 5)), rng.normal(size=40)
    seen, free = rng.random(40) < 0.7, np.column_stack([np.ones(40), np.arange(40.0)])
    found = regression.ridge_fits((free, X, y), seen, (free, X))
    A, X_free = np.column_stack([free, X]), X[seen] - free[seen] @ np.linalg.lstsq(free[seen], X[seen], rcond=None)[0]
    for ridge, row in zip(regression.RIDGES, found):
        penalty = np.diag(np.r_[0.0, 0.0, np.full(5, ridge * np.square(X_free).sum() / 5)])
        coefficients = np.linalg.solve(A[seen].T @ A[seen] + penalty, A[seen].T @ y[seen])
        np.testing.assert_allclose(row, A @ coefficients, rtol=1e-6, atol=1e-9)


def test_a_ridge_shrinks_the_slope_in_time_like_other_coefficients():
    line, noise = np.arange(40.0), np.random.default_rng(0).normal(size=(40, 2))
    levels = regression.predict(noise, line, line < 30)[: len(regression.RIDGES)]
    spreads = levels.std(axis=1) / line.std()
    assert spreads[0] == pytest.approx(1.0, abs=1e-3) and spreads[-1] < 0.1


def test_runs_are_hidden_as_they_are_missing():
    seen = np.ones((4, 60), bool)
    seen[0, -10:] = seen[1, :6] = seen[2, 20:28] = False
    for number, ends in ((0, (40, 6)), (1, (30, 12))):
        hidden, lost = regression.hide_like_gaps(seen, number)
        assert not hidden[3].any() and not (hidden & ~seen).any() and (lost | ~hidden).all()
        assert np.flatnonzero(hidden[0]).tolist() == list(range(ends[0], ends[0] + 10)) and lost[0, ends[0] : 50].all()
        assert np.flatnonzero(hidden[1]).tolist() == list(range(ends[1], ends[1] + 6)) and lost[1, 6 : ends[1]].all()
        assert np.flatnonzero(hidden[2])[0] == (12 if number == 0 else 28) and hidden[2].sum() == 8


@pytest.mark.parametrize("count", [1, 2, 3, 9])
def test_few_observed_values(count):
    values, seen = related(columns=12), np.ones((4, 12), bool)
    seen[1, count:] = seen[2, :-count] = False
    filled = regression.fill(asked(np.where(seen, values, 0.0), seen), {})
    assert np.isfinite(filled).all()


def test_it_needs_two_series_in_order():
    values, seen = related(), np.random.default_rng(0).random((4, 90)) < 0.8
    assert regression.suits(asked(values, seen)) and not regression.suits(asked(values, seen, False))
    assert not regression.suits(asked(values[:1], seen[:1])) and not regression.suits(asked(values[:, :7], seen[:, :7]))
    seen[2] = False
    graph = sparse.csr_matrix(1.0 - np.eye(4))
    filled = regression.fill(asked(np.where(seen, values, 0.0), seen)._replace(adjacency=graph), {})
    assert np.isnan(filled[2]).all() and np.isfinite(np.delete(filled, 2, axis=0)).all()
