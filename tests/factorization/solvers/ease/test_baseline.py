"""EASE as a training: its lists and scores by the oracle."""

import numpy as np

from factorization.implicit.planted import clicks
from factorization.solvers.ease import naive
from gpukit.evaluation.lists import Clicks, clicks_of
from gpukit.factorization.solvers import ease, solver_defaults


def test_lists_have_positive_scores_first_then_popular_items(monkeypatch):
    monkeypatch.setattr(ease, "NUMBERS", 60 * 7)
    train, _ = clicks()
    known = clicks_of(train.users, train.items, (121, 60))  # the last user has no clicks
    made, X = ease.Ease(known, 60), np.zeros((121, 60))
    X[train.users, train.items] = 1
    B = naive.weights(X, solver_defaults("ease", "adaptive", len(train))["regularization"])
    scores, rows = np.stack([naive.scores(X, B, user) for user in range(121)]), np.arange(121)
    popular = np.argsort(-np.bincount(train.items, minlength=60), kind="stable")
    for tile, lists in made.lists(rows, 40):
        for user, items in zip(tile, lists):
            own = np.where(X[user] > 0, -np.inf, scores[user])
            first = np.count_nonzero(own > 0)
            np.testing.assert_allclose(own[items[: min(first, 40)]], np.sort(own)[::-1][: min(first, 40)], atol=1e-5)
            rest = [item for item in popular if not X[user, item] and own[item] <= 0]
            assert items[first:].tolist() == rest[: max(0, 40 - first)]


def test_lists_of_other_users():
    train, _ = clicks()
    known = clicks_of(train.users, train.items, train.shape)
    other = Clicks(np.int64([0, 2, 2]), np.int32([0, 4]))
    ((_, lists),) = ease.Ease(known, 60, other).lists(np.arange(2), 3)
    assert not set(lists[0]) & {0, 4} and set(lists[0] % 4) == {0}


def test_too_many_items_are_left_out(monkeypatch):
    known = Clicks(np.int64([0, 2]), np.int32([0, 4]))
    assert ease.Ease.is_affordable(known, 100)
    monkeypatch.setattr(ease, "available_memory", lambda: 2 * 12 * 100**2 - 1)
    assert not ease.Ease.is_affordable(known, 100)
    many = Clicks(np.arange(10_001), np.zeros(10_000, np.int32))
    monkeypatch.setattr(ease, "available_memory", lambda: 1 << 60)
    assert not ease.Ease.is_affordable(many, 10_000) and ease.Ease.is_affordable(many, 8_000)
