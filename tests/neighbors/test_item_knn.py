"""Item kNN of clicks against plain loops; lists omit known items, ties are resolved by the lower row."""

import numpy as np
import pytest
from evaluation import naive as scoring

from gpukit.device import cpu
from gpukit.evaluation.lists import clicks_of
from gpukit.neighbors import item_knn
from gpukit.ratings.orders.order import order_ratings
from gpukit.runtime import thread_count
from neighbors import naive
from neighbors.exact_inputs import CLICKS, clicked, clicks

DAMPING = 10.0


def known_of(table):
    """Return the Clicks of a mask (M, N)."""
    return clicks_of(*np.nonzero(table), table.shape)


def scores_of(made, table):
    """Return the scores (M, N) of all pairs."""
    scores, listed = np.zeros(table.shape, np.float32), np.empty(table.shape[1] + 1, np.int32)
    for clicked_items, sums in zip((np.flatnonzero(row) for row in table), scores):
        item_knn.add_votes(clicked_items, *made.naming, sums, listed)
    return scores


def expected_lists(scores, table, n):
    """Return lists (M, n) by scores, without clicks, -1 after the last."""
    return [
        ([item for item in np.argsort(-row, kind="stable") if not mask[item]] + [-1] * n)[:n]
        for row, mask in zip(scores, table)
    ]


def lists_of(made, rows, n):
    """Return the lists of users."""
    return [line for _, items in made.lists(rows, n) for line in items.tolist()]


@pytest.mark.parametrize("name", CLICKS)
def test_neighbours_are_the_largest_cosines(name):
    expected = naive.cosines(clicked(name))
    k = min(4, len(expected))
    neighbors, cosines = item_knn.click_neighbors(order_ratings(clicks(name), cpu()), k, cpu())
    assert neighbors.dtype == np.int32 and cosines.dtype == np.float32
    rounded = np.float32(expected)
    for item, row in enumerate(rounded):
        best = [other for other in np.argsort(-row, kind="stable") if row[other] > 0][:k]
        assert neighbors[item].tolist() == best + [-1] * (k - len(best))
        np.testing.assert_array_equal(cosines[item], np.append(row[best], np.zeros(k - len(best), np.float32)))


@pytest.mark.parametrize("neighbors", [3, 65, 80])
@pytest.mark.parametrize("name", ["no clicks on some", "equal columns", "one user", "one item", "everything"])
def test_scores_and_lists(name, neighbors, monkeypatch):
    """By tiles of 5 users, and the same with any number of threads."""
    monkeypatch.setattr(item_knn, "NEIGHBORS", neighbors)
    table = clicked(name)
    monkeypatch.setattr("gpukit.evaluation.lists.TILE", 5 * 6)
    made, rows = item_knn.ItemKNN(known_of(table), table.shape[1]), np.arange(len(table))
    own = scores_of(made, table)
    np.testing.assert_allclose(own, scoring.knn_scores(table, neighbors, DAMPING), rtol=1e-5, atol=1e-6)
    found = lists_of(made, rows, 6)
    assert made.share == 1 and found == expected_lists(own, table, 6)
    monkeypatch.setattr(thread_count._setting, "count", 3)
    assert lists_of(made, rows, 6) == found
    np.testing.assert_array_equal(scores_of(made, table), own)


def test_lists_of_some_users_in_any_order():
    table = clicked("no clicks by some")
    made = item_knn.ItemKNN(known_of(table), table.shape[1])
    every, rows = lists_of(made, np.arange(len(table)), 9), np.array([7, 0, 33, 7, 49])
    assert lists_of(made, rows, 9) == [every[row] for row in rows]
    assert lists_of(made, rows[:0], 9) == []


def test_without_clicks_the_first_items_are_listed():
    known = known_of(np.zeros((3, 5), bool))
    assert lists_of(item_knn.ItemKNN(known, 5), np.arange(3), 7) == [[0, 1, 2, 3, 4, -1, -1]] * 3


def test_with_many_clicks_a_part_of_the_users_is_counted(monkeypatch):
    table = clicked("no clicks by some")
    known = known_of(table)
    monkeypatch.setattr(item_knn, "PRODUCTS", 0.5 * float(known.counts() @ known.counts()))
    made = item_knn.ItemKNN(known, table.shape[1], seed=3)
    assert made.share == pytest.approx(0.5)
    chosen = np.random.default_rng(3).random(len(table)) < 0.5
    like = scoring.knn_scores(np.where(chosen[:, None], table, False), item_knn.NEIGHBORS, DAMPING)
    np.testing.assert_allclose(scores_of(made, table)[chosen], like[chosen], rtol=1e-5, atol=1e-6)


def test_lists_for_others_than_were_learned_from():
    table = clicked("no clicks by some")
    given = table[::-1][:, ::-1]
    made = item_knn.ItemKNN(known_of(table), table.shape[1], known_of(given))
    scores = scores_of(made, given)
    assert lists_of(made, np.arange(len(given)), 5) == expected_lists(scores, given, 5)
    np.testing.assert_allclose(scores, given @ np.float32(naive.cosines(table)), rtol=1e-5, atol=1e-6)
