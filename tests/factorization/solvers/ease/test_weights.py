"""Weights of EASE against the oracle, by either side's inverse."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from factorization.solvers.ease import naive
from gpukit.errors import ParameterError
from gpukit.factorization.constants import RULES
from gpukit.factorization.solvers import ease

SHAPES = [(1, 2), (5, 3), (4, 9), (31, 12), (12, 33), (70, 20)]


def clicks(shape, seed=0):
    """Return (X dense, X sparse): a third of the pairs; the last user and item have no click."""
    X = np.random.default_rng([seed, *shape]).random(shape) < 0.35
    X[-1:, 1:] = False
    X[:, -1] = False
    return X.astype(float), csr_array(X.astype(np.float32))


@pytest.mark.parametrize("ridge", [5.0, 50.0])
@pytest.mark.parametrize("by_users", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_weights_are_those_of_a_regression_per_item(shape, by_users, ridge, monkeypatch):
    monkeypatch.setattr(ease, "uses_users", lambda shape, n_clicks: by_users)
    dense, X = clicks(shape)
    found = ease.solve_weights(X, ridge)
    assert found.dtype == np.float32 and not found.diagonal().any() and found.flags.c_contiguous
    np.testing.assert_allclose(found, naive.weights(dense, ridge), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("shape", SHAPES)
def test_scores_need_no_weights(shape):
    dense, X = clicks(shape)
    users = np.arange(shape[0])[::-1]
    found, B = ease.solve_scores(X, users, 3.0), naive.weights(dense, 3.0)
    for line, user in zip(found, users):
        new = dense[user] == 0
        np.testing.assert_allclose(line[new], naive.scores(dense, B, user)[new], rtol=1e-4, atol=1e-5)


def test_gram_matrix_in_blocks(monkeypatch):
    dense, X = clicks((23, 17))
    monkeypatch.setattr(ease, "NUMBERS", 40)
    assert np.array_equal(ease.gram_of(X, np.float32), dense @ dense.T)


def test_double_precision_where_single_is_not_accurate(monkeypatch):
    """Equal users make the matrix singular up to the ridge."""
    X = csr_array(np.ones((40, 300), np.float32))
    exact = np.linalg.inv(np.full((40, 40), 300.0) + 1e-4 * np.eye(40))
    np.testing.assert_allclose(ease.inverse_of(X, 1e-4), exact, rtol=1e-3)
    kinds, gram_of = [], ease.gram_of
    monkeypatch.setattr(ease, "gram_of", lambda rows, dtype: kinds.append(dtype) or gram_of(rows, dtype))
    ease.inverse_of(X, 1e-4)
    ease.inverse_of(clicks((9, 12))[1], 1.0)
    assert kinds == [np.float32, np.float64, np.float32]


def test_too_little_regularization():
    with pytest.raises(ParameterError, match="regularization=0 is too small to invert a matrix of 6 rows"):
        ease.inverse_of(csr_array(np.ones((6, 9), np.float32)), 0.0)


def test_the_cheaper_side():
    assert ease.uses_users((600, 9_000), 80_000)
    assert not ease.uses_users((6_040, 3_706), 994_169)
    assert ease.work_of((600, 9_000), 80_000) < 9_000**3 / RULES.inverse_rate
    assert ease.memory_of(20_000) == 4_800_000_000


def test_mirror_over_several_blocks():
    lower = np.asfortranarray(np.random.default_rng(1).random((600, 600)))
    expected = np.tril(lower) + np.tril(lower, -1).T
    ease.mirror(lower)
    assert np.array_equal(lower, expected)
