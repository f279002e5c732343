"""Diversity of lists: against the definition, and its effect."""

import numpy as np
import pytest

from factorization.lists import naive
from gpukit.factorization.lists import recommending
from gpukit.factorization.lists.recommending import directions, diversify, pool_size


def pools(users, size, n_items, seed=0):
    """Return (items, scores) of pools, best first; the last pool is shorter."""
    rng = np.random.default_rng(seed)
    items = np.array([rng.permutation(n_items)[:size] for _ in range(users)], np.int32)
    scores = -np.sort(-rng.normal(size=(users, size)), axis=1).astype(np.float32)
    scores[-1, size // 3 :] = np.nan
    return items, scores


@pytest.mark.parametrize("diversity", [0.1, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("n, size, n_factors", [(1, 1, 1), (4, 20, 3), (7, 7, 5)])
def test_lists_are_those_of_the_definition(n, size, n_factors, diversity):
    factors = np.random.default_rng(1).normal(size=(40, n_factors)).astype(np.float32)
    factors[5] = 0
    items, scores = pools(6, size, 40)
    found, theirs = diversify(items, scores, n, directions(factors), diversity)
    assert found.shape == theirs.shape == (6, n)
    for line in range(6):
        there = ~np.isnan(scores[line])
        pool = list(zip(items[line][there].tolist(), scores[line][there].astype(float).tolist()))
        expected = naive.spread_out(pool, factors.astype(float), n, diversity) if pool else []
        assert found[line, : len(expected)].tolist() == expected
        assert theirs[line, : len(expected)].tolist() == [np.float32(dict(pool)[item]) for item in expected]
        assert np.isnan(theirs[line, len(expected) :]).all()


def test_tiles_of_users_give_the_same_lists(monkeypatch):
    items, scores = pools(7, 20, 40)
    vectors = directions(np.random.default_rng(1).normal(size=(40, 3)).astype(np.float32))
    whole = diversify(items, scores, 4, vectors, 0.5)
    monkeypatch.setattr(recommending, "NUMBERS", 2 * 20 * 3)
    np.testing.assert_array_equal(diversify(items, scores, 4, vectors, 0.5), whole)
    assert diversify(items[:0], scores[:0], 4, vectors, 0.5)[0].shape == (0, 4)


def test_none_is_the_ranking_and_all_avoids_what_is_alike():
    factors = np.repeat(np.eye(3, dtype=np.float32), 4, axis=0)  # items 0 to 3 are similar, and so on
    items, scores = np.arange(12, dtype=np.int32)[None], np.linspace(2, 1, 12, dtype=np.float32)[None]
    vectors = directions(factors)
    assert diversify(items, scores, 3, vectors, 0.0)[0][0].tolist() == [0, 1, 2]
    assert diversify(items, scores, 3, vectors, 0.8)[0][0].tolist() == [0, 4, 8]


def test_equal_scores_go_by_the_ranking():
    items, scores = np.array([[3, 1, 2]], np.int32), np.ones((1, 3), np.float32)
    assert diversify(items, scores, 3, np.eye(4, dtype=np.float32), 0.5)[0][0].tolist() == [3, 1, 2]


def test_pools():
    assert pool_size(10, 0.0, 1000) == 10 and pool_size(10, 0.3, 1000) == 50
    assert pool_size(10, 0.3, 33) == 33 and pool_size(10, 0.0, 7) == 7
