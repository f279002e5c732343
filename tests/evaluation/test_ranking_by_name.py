"""Ranking metrics one by one against their definitions, on data with many ties and queries without relevance."""

import numpy as np
import pytest

from evaluation import naive
from gpukit.errors import DataError, ParameterError
from gpukit.evaluation import ranking


def graded(seed, n=60, n_queries=9):
    rng = np.random.default_rng(seed)
    queries = rng.integers(0, n_queries, n)
    grades = np.where(queries % 4 == 0, 0, rng.integers(0, 3, n))
    return grades, np.round(rng.normal(size=n) + 0.5 * grades, 1), queries


@pytest.mark.parametrize("kind", ranking.NDCG_KINDS)
@pytest.mark.parametrize("k", [1, 2, 5, 100])
@pytest.mark.parametrize("seed", [0, 1])
def test_ndcg(kind, k, seed):
    data = graded(seed)
    assert (
        ranking.ndcg(*data, k=k, kind=kind, ties="file") == pytest.approx(naive.ndcg(*data, k, kind), rel=1e-12)
        or (kind, k) == ("letor", 100)  # no query is so long
    )


def test_ndcg_by_hand():
    assert ranking.ndcg([1, 0], [1.0, 2.0], k=2) == pytest.approx(1 / np.log2(3))
    assert ranking.ndcg([1, 0], [1.0, 2.0], k=2, kind="letor") == 1.0  # ranks 1 and 2 have equal weights there
    assert np.isnan(ranking.ndcg([0, 0], [1.0, 2.0], kind="skip-blank"))
    assert ranking.ndcg([1, 0], [1.0, 1.0], k=1) == ranking.mean_average_precision([1, 0], [1.0, 1.0]) - 0.25 == 0.5
    with pytest.raises(ParameterError, match="'LETOR'"):
        ranking.ndcg([1], [1], kind="LETOR")


@pytest.mark.parametrize("relevant", [1, 2])
def test_mean_average_precision(relevant):
    data = graded(2)
    expected = naive.mean_average_precision(*data, relevant)
    assert ranking.mean_average_precision(*data, relevant=relevant, ties="file") == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("ties", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("n, n_queries", [(60, 9), (2, 1), (33, 1), (257, 3)])
def test_pairwise_accuracy(ties, n, n_queries):
    grades, scores, queries = graded(3, n, n_queries)
    grades[:2], queries[:2] = (0, 1), 1  # one pair at least
    expected = naive.pairwise_accuracy(grades, scores, queries, ties)
    assert ranking.pairwise_accuracy(grades, scores, queries, ties) == pytest.approx(expected, rel=1e-12)


def test_pairwise_accuracy_without_a_pair():
    with pytest.raises(DataError, match="two different grades"):
        ranking.pairwise_accuracy([1, 1], [1, 2])


def test_queries_of_another_length():
    with pytest.raises(DataError, match="queries has shape"):
        ranking.ndcg([1, 0], [1, 2], [1])
