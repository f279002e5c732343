"""Fold-in of rows against the oracle and against training."""

from types import SimpleNamespace

import numpy as np
import pytest

from factorization.solvers.ials import naive
from factorization.solvers.ials.inputs import TERMS, begun, clicks_of
from gpukit.factorization.solvers import ials

SETTINGS = SimpleNamespace(**dict(zip(("regularization", "unobserved_weight", "exponent"), TERMS)))
SHAPE = (23, 14)


def csr(clicks, rows):
    """Return (indptr, indices, weights) of clicks by user."""
    counts = np.bincount([click[0] for click in clicks], minlength=rows)
    return np.concatenate(([0], np.cumsum(counts))), *(np.array([click[at] for click in clicks]) for at in (1, 2))


@pytest.mark.parametrize("together", [1, 1 << 22])
def test_rows_solve_their_equations(together, monkeypatch):
    monkeypatch.setattr(ials, "NUMBERS", together)
    clicks = clicks_of(weighted=True)
    V = np.random.default_rng(0).normal(size=(14, 6)).astype(np.float32)
    lists = csr(clicks, SHAPE[0])
    found = ials.fold_in(V, *lists, SETTINGS)
    expected = naive.solved(clicks, SHAPE[0], 0, V, *TERMS)
    assert found.dtype == np.float32 and not found[9].any()
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7)
    np.testing.assert_array_equal(ials.fold_in(V, *lists, SETTINGS, ials.gram_of(V)), found)


def test_without_weights():
    clicks = clicks_of()
    V = np.random.default_rng(1).normal(size=(14, 3)).astype(np.float32)
    indptr, indices, weights = csr(clicks, SHAPE[0])
    found = ials.fold_in(V, indptr, indices, None, SETTINGS)
    np.testing.assert_array_equal(found, ials.fold_in(V, indptr, indices, weights, SETTINGS))


def test_no_rows_and_no_clicks():
    V = np.ones((4, 2), np.float32)
    assert ials.fold_in(V, np.zeros(1, int), np.zeros(0, int), None, SETTINGS).shape == (0, 2)
    assert not ials.fold_in(V, np.zeros(3, int), np.zeros(0, int), None, SETTINGS).any()


def test_a_trained_user_comes_back(monkeypatch):
    """From the items of its last solution."""
    monkeypatch.setattr(ials, "faster_row_solver", lambda *facts: "cholesky")
    clicks = clicks_of(weighted=True)
    session, training = begun(clicks, SHAPE, 4)
    items = session.state().item_factors
    training.epoch(0)
    users = session.state().user_factors
    assert users.any()
    np.testing.assert_allclose(ials.fold_in(items, *csr(clicks, 23), SETTINGS), users, atol=1e-5 * np.abs(users).max())
