"""Popularity and item kNN against plain loops; lists omit known items, ties are resolved by the lower row."""

import numpy as np
import pytest

from evaluation import naive
from gpukit.evaluation.lists import baselines
from gpukit.evaluation.lists.clicks import clicks_of

USERS, ITEMS = 33, 17


@pytest.fixture
def clicked():
    random = np.random.default_rng(2)
    mask = random.random((USERS, ITEMS)) < random.random(ITEMS)
    mask[0], mask[1], mask[:, 16] = False, True, False
    mask[1, 16] = True
    return mask


@pytest.fixture
def known(clicked):
    return clicks_of(*np.nonzero(clicked), clicked.shape)


def expected_lists(scores, clicked, n):
    return [
        ([item for item in np.argsort(-row, kind="stable") if not mask[item]] + [-1] * n)[:n]
        for row, mask in zip(scores, clicked)
    ]


def listed(made, n):
    return [line for _, items in made.lists(np.arange(USERS), n) for line in items.tolist()]


def test_popularity(clicked, known, monkeypatch):
    monkeypatch.setattr(baselines, "TILE_BYTES", 5 * 8 * ITEMS)
    made = baselines.Popularity(known, ITEMS)
    counts = np.broadcast_to(clicked.sum(axis=0), clicked.shape)
    assert (made.scores(np.arange(USERS)) == counts).all()
    assert listed(made, 6) == expected_lists(counts, clicked, 6)


@pytest.mark.parametrize("neighbors", [3, ITEMS, 50])
def test_item_knn(clicked, known, neighbors, monkeypatch):
    monkeypatch.setattr(baselines, "NEIGHBORS", neighbors)
    monkeypatch.setattr(baselines, "TILE_BYTES", 3 * 8 * ITEMS)
    made = baselines.ItemKNN(known, ITEMS)
    scores, own = naive.knn_scores(clicked, neighbors, baselines.SHRINKAGE), made.scores(np.arange(USERS))
    np.testing.assert_allclose(own, scores, rtol=1e-5, atol=1e-6)
    assert made.share == 1 and listed(made, 5) == expected_lists(own, clicked, 5)


def test_with_many_clicks_a_part_of_the_users_is_counted(clicked, known, monkeypatch):
    monkeypatch.setattr(baselines, "PRODUCTS", 0.5 * float(known.counts() @ known.counts()))
    made = baselines.ItemKNN(known, ITEMS, seed=3)
    assert made.share == pytest.approx(0.5)
    taken = np.random.default_rng(3).random(USERS) < 0.5
    part = np.where(taken[:, None], clicked, False)
    like = naive.knn_scores(part, baselines.NEIGHBORS, baselines.SHRINKAGE)
    np.testing.assert_allclose(made.scores(np.flatnonzero(taken)), like[taken], rtol=1e-5, atol=1e-6)


def test_lists_for_others_than_were_learned_from(clicked, known):
    given = clicked[::-1][:, ::-1]
    others = clicks_of(*np.nonzero(given), given.shape)
    for kind in (baselines.Popularity, baselines.ItemKNN):
        made = kind(known, ITEMS, others)
        scores = made.scores(np.arange(USERS))
        assert listed(made, 5) == expected_lists(scores, given, 5)
    like = kind(known, ITEMS).weights.toarray()
    np.testing.assert_allclose(scores, given @ like, rtol=1e-5, atol=1e-6)
