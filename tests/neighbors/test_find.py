"""Neighbours and scores on the CPU against the naive oracle, equal to the bit."""

import numpy as np
import pytest

from gpukit.neighbors import cpu
from gpukit.neighbors.plan import SEARCHES, Settings
from neighbors import naive
from neighbors.inputs import SHAPES, case, columns, oracle_codes, ratings


@pytest.mark.parametrize("search", ["hamming", "buckets"])
@pytest.mark.parametrize("name", SHAPES)
def test_neighbors_are_the_best_of_all_pairs(name, search):
    made, table, settings, chunk = case(name)
    settings = settings._replace(search=search)
    found = cpu.find(table, settings)
    rated = np.diff(table.indptr) > 0
    shares = naive.scores(oracle_codes(made, settings), rated, search, settings.q)
    random_slots = 0
    for item, expected in enumerate(naive.neighbors(shares, made.shape[1], settings.n_neighbors)):
        size = len(expected)
        assert list(found.neighbors[item, :size]) == [other for other, _ in expected]
        np.testing.assert_array_equal(found.scores[item, :size], np.array([s for _, s in expected], np.float32))
        assert np.isnan(found.scores[item, size:]).all()
        assert len(set(found.neighbors[item])) == settings.n_neighbors and item not in found.neighbors[item]
        assert found.neighbors[item].min() >= 0 and found.neighbors[item].max() < made.shape[1]
        random_slots += settings.n_neighbors - size
    assert found.random_slots == random_slots


@pytest.mark.parametrize("search", SEARCHES)
def test_stripes_do_not_show(search, monkeypatch):
    table = columns(ratings(30, 50, 0.3, [1, 2, 3], seed=1))
    settings = Settings(5, 1, 9, 4, search=search)
    whole = cpu.find(table, settings)
    monkeypatch.setattr(cpu, "stripe_bytes", lambda n_items: 7 * 4 * n_items)
    np.testing.assert_array_equal(cpu.find(table, settings).neighbors, whole.neighbors)


def test_order_of_the_ratings_does_not_matter():
    made = ratings(40, 20, 0.5, [1, 2, 3, 4, 5], seed=2)
    settings = Settings(6, 2, 8, 4)
    expected = cpu.find(columns(made), settings).neighbors
    order = np.random.default_rng(0).permutation(len(made.users))
    made = made.take(order)
    np.testing.assert_array_equal(cpu.find(columns(made), settings).neighbors, expected)
