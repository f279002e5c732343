"""Features scaled to a common range: none, minmax, deviation."""

import numpy as np
import pytest
import scipy.sparse

from gpukit.errors import DataError
from gpukit.ranking import RankSVM, scaling
from ranking.data import make

SHAPES = [(1, 1), (5, 3), (4096, 2), (4097, 3), (9000, 1)]


def naive_minmax(X, low, high):
    """Return (x - low) / (high - low) of each column, 0 for a constant one."""
    out = np.zeros(X.shape)
    for f in range(X.shape[1]):
        if high[f] > low[f]:
            out[:, f] = (X[:, f].astype(np.float64) - low[f]) / (high[f] - low[f])
    return out


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_minmax(shape, dtype):
    X = np.random.default_rng(0).normal(5, 100, shape).astype(dtype)
    X[:, 0] = 7.25
    found = scaling.fit("minmax", X)
    np.testing.assert_array_equal(found.low, X.min(axis=0))
    out = found.apply(X)
    assert out.dtype == dtype and out is not X
    expected = naive_minmax(X, X.min(axis=0).astype(float), X.max(axis=0).astype(float))
    np.testing.assert_allclose(out, expected, rtol=4 * np.finfo(dtype).eps, atol=0)
    assert (out[:, 0] == 0).all() and out.min() >= 0 and out.max() <= 1 + np.finfo(dtype).eps


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "ends, kind, form",
    [
        (ends, kind, form)
        for ends in ((-1.7e308, 1.7e308), (0.0, 1e-310))
        for kind in ("minmax", "deviation")
        for form in (np.asarray, scipy.sparse.csr_matrix)
        if kind != "minmax" or ends[0] >= 0 or form is np.asarray  # a sparse X with negative values has no minmax
    ],
)
def test_a_range_beyond_float64_is_named(ends, kind, form):
    X = np.random.default_rng(0).random((12, 2))
    X[:, 1] = np.tile(ends, 6)
    with pytest.raises(DataError, match=f"scale='{kind}' .* cannot scale feature 2, .* in another unit"):
        RankSVM(1.0, scale=kind, device="cpu").fit(form(X), np.tile([0, 1, 2], 4), group=[6, 6])


@pytest.mark.parametrize("row", [0, scaling.RUN - 1, scaling.RUN, 2 * scaling.RUN + 9])
def test_the_range_is_found_wherever_it_lies(row):
    X = np.zeros((2 * scaling.RUN + 10, 2))
    X[row] = 3, -2
    low, high = scaling.dense_range(X)
    assert low.tolist() == [0, -2] and high.tolist() == [3, 0]


def test_what_lies_outside_is_not_clipped_and_a_constant_stays_0():
    found = scaling.fit("minmax", np.array([[0.0, 3.0], [10.0, 3.0]]))
    np.testing.assert_array_equal(found.apply(np.array([[-5.0, 9.0], [30.0, 3.0]])), [[-0.5, 0], [3, 0]])


def test_none_is_the_matrix_itself():
    X = np.ones((2, 2))
    assert scaling.fit("none", X).apply(X) is X


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_is_divided_by_the_largest(dtype):
    dense = np.random.default_rng(2).integers(0, 5, (30, 6)).astype(dtype)
    dense[:, 4] = 0
    dense[:, 5] = 2  # constant, but never 0
    X = scipy.sparse.csr_array(dense)
    found = scaling.fit("minmax", X)
    out = found.apply(X)
    assert out.dtype == dtype and (out.indices == X.indices).all() and X.data.max() == 4
    np.testing.assert_allclose(out.toarray(), dense / np.maximum(dense.max(axis=0), 1), rtol=1e-7)
    assert found.missing(X, np.ones(6)) == 0


def test_sparse_that_cannot_be():
    X = scipy.sparse.csr_array([[1.0, 0.0], [-2.0, 3.0]])
    with pytest.raises(DataError, match="cannot shift a sparse X, and it holds -2"):
        scaling.fit("minmax", X)


def test_the_model_scales_what_it_predicts():
    at, other = make(), make(seed=7)
    X, Z = 100 * at.X + 3, 100 * other.X + 3
    low, high = X.min(axis=0), X.max(axis=0)
    model = RankSVM(1.0, scale="minmax", device="cpu").fit(X, at.y, at.qid)
    plain = RankSVM(1.0, device="cpu").fit((X - low) / (high - low), at.y, at.qid)
    np.testing.assert_allclose(model.coef_, plain.coef_, rtol=1e-9)
    np.testing.assert_allclose(model.predict(Z), (Z - low) / (high - low) @ model.coef_, rtol=1e-12)
    np.testing.assert_allclose(model.predict(scipy.sparse.csr_array(Z)), model.predict(Z), rtol=1e-9)
    assert model.score(Z, other.y, other.qid) == pytest.approx(
        plain.score((Z - low) / (high - low), other.y, other.qid), abs=1e-12
    )


def naive_spread(X, offsets):
    """Return the root mean squared distance from the query's mean, of each column."""
    total = np.zeros(X.shape[1])
    for begin, end in zip(offsets[:-1], offsets[1:]):
        mean = X[begin:end].mean(axis=0) if begin < end else 0.0
        for i in range(begin, end):
            total += (X[i] - mean) ** 2
    return np.sqrt(total / len(X))


@pytest.mark.parametrize("lengths", [[1], [2], [0, 3, 1, 0], [40] * 20 + [700], [5000, 1, 4000]])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_deviation(lengths, dtype):
    offsets = np.append(0, np.cumsum(lengths))
    X = np.random.default_rng(1).normal(3, 50, (offsets[-1], 5)).astype(dtype)
    X[:, 1], X[:, 2] = 0.1, np.repeat(np.arange(len(lengths)) * 0.1, lengths)
    X[:, 4] = (X[:, 4] > 0) * X[:, 4]
    spread = naive_spread(X.astype(np.float64), offsets)
    spread[1:3] = 0
    expected = np.divide(1.0, spread, out=np.zeros(5), where=spread > 0)
    for given in (X, scipy.sparse.csr_array(X)):
        found = scaling.fit("deviation", given, offsets)
        np.testing.assert_allclose(found.factor, expected, rtol=1e-6)
        assert found.apply(given).dtype == dtype
    out = scaling.fit("deviation", X, offsets).apply(X)
    np.testing.assert_allclose(naive_spread(out.astype(float), offsets), expected * spread, rtol=1e-4, atol=1e-6)


def test_deviations_of_any_size():
    offsets, X = np.array([0, 3, 6]), np.random.default_rng(3).normal(size=(6, 1))
    for size in (1e-200, 1e200):
        factor = scaling.fit("deviation", X * size, offsets).factor
        np.testing.assert_allclose(factor * size, scaling.fit("deviation", X, offsets).factor, rtol=1e-12)


def test_a_model_of_deviations_scores_sparse_documents_alike():
    at = make()
    model = RankSVM(1.0, scale="deviation", device="cpu").fit(100 * at.X + 3, at.y, at.qid)
    Z = 100 * make(seed=7).X + 3
    np.testing.assert_allclose(model.predict(scipy.sparse.csr_array(Z)), model.predict(Z), rtol=1e-9)
