"""Metrics against their definitions, on data full of ties and blank queries."""

import numpy as np
import pytest

from evaluation import naive
from gpukit.errors import DataError, ParameterError
from gpukit.evaluation import metrics


def graded(seed, n=60, n_queries=9):
    rng = np.random.default_rng(seed)
    queries = rng.integers(0, n_queries, n)
    grades = np.where(queries % 4 == 0, 0, rng.integers(0, 3, n))
    return grades, np.round(rng.normal(size=n) + 0.5 * grades, 1), queries


def test_errors_of_ratings():
    truth, predicted = [1.0, 2.0, 4.0], [2.0, 2.0, 2.0]
    assert metrics.rmse(truth, predicted) == pytest.approx(np.sqrt(5 / 3))
    assert metrics.mae(truth, predicted) == pytest.approx(1.0)
    assert metrics.relative_error(truth, predicted) == pytest.approx(np.sqrt(5 / 21))


def test_sums_are_float64():
    truth = np.full(200_000, 3.0, np.float32)
    predicted = truth + np.float32(0.1)
    assert metrics.rmse(truth, predicted) == pytest.approx(float(predicted[0]) - 3.0, rel=1e-12)


@pytest.mark.parametrize("metric", [metrics.rmse, metrics.mae, metrics.relative_error])
@pytest.mark.parametrize("truth, predicted", [([], []), ([1.0], [1.0, 2.0])])
def test_shapes_that_cannot_be_compared(metric, truth, predicted):
    with pytest.raises(DataError, match="shape"):
        metric(truth, predicted)


def test_relative_error_of_nothing():
    with pytest.raises(DataError, match="all-zero"):
        metrics.relative_error([0.0], [1.0])


def test_hit_ratio():
    lists = [[1, 2, 3], [4, 5, 6], [7, 8, 9]]
    assert metrics.hit_ratio([3, 4, 1], lists, k=2) == pytest.approx(1 / 3)
    assert metrics.hit_ratio([3, 4, 1], lists, k=5) == pytest.approx(2 / 3)
    with pytest.raises(ParameterError, match="k must be"):
        metrics.hit_ratio([1], [[1]], k=0)
    with pytest.raises(DataError, match="shapes"):
        metrics.hit_ratio([1, 2], [[1]])


@pytest.mark.parametrize("kind", metrics.NDCG_KINDS)
@pytest.mark.parametrize("k", [1, 2, 5, 100])
@pytest.mark.parametrize("seed", [0, 1])
def test_ndcg(kind, k, seed):
    data = graded(seed)
    assert metrics.ndcg(*data, k=k, kind=kind) == pytest.approx(naive.ndcg(*data, k, kind), rel=1e-12)


def test_ndcg_by_hand():
    assert metrics.ndcg([1, 0], [1.0, 2.0], k=2) == pytest.approx(1 / np.log2(3))
    assert metrics.ndcg([1, 0], [1.0, 2.0], k=2, kind="letor") == 1.0  # ranks 1 and 2 weigh the same there
    assert metrics.ndcg([0, 0], [1.0, 2.0], kind="skip-blank") == 0.0
    with pytest.raises(ParameterError, match="'LETOR'"):
        metrics.ndcg([1], [1], kind="LETOR")


@pytest.mark.parametrize("relevant", [1, 2])
def test_mean_average_precision(relevant):
    data = graded(2)
    expected = naive.mean_average_precision(*data, relevant)
    assert metrics.mean_average_precision(*data, relevant=relevant) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("ties", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("n, n_queries", [(60, 9), (2, 1), (33, 1), (257, 3)])
def test_pairwise_accuracy(ties, n, n_queries):
    grades, scores, queries = graded(3, n, n_queries)
    grades[:2], queries[:2] = (0, 1), 1  # one pair at least
    expected = naive.pairwise_accuracy(grades, scores, queries, ties)
    assert metrics.pairwise_accuracy(grades, scores, queries, ties) == pytest.approx(expected, rel=1e-12)


def test_pairwise_accuracy_without_a_pair():
    with pytest.raises(DataError, match="two different grades"):
        metrics.pairwise_accuracy([1, 1], [1, 2])


def test_queries_of_another_length():
    with pytest.raises(DataError, match="queries has shape"):
        metrics.ndcg([1, 0], [1, 2], [1])
