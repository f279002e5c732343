"""Regularization of the ranking head: chosen for few ratings, the default for many."""

import numpy as np
import pytest

from gpukit.device import cpu
from gpukit.factorization import MatrixFactorization
from gpukit.factorization.constants import RULES
from gpukit.factorization.lists import learning
from gpukit.ratings import as_ratings

USERS, ITEMS, KINDS = 150, 80, 4
PLENTY = [RULES.list_regularization, RULES.list_unobserved_weight, RULES.list_exponent]


def tastes(seed=0, share=0.12):
    """Return Ratings of random values on nonrandom items.

    Each user rates mostly one kind of items, the first ones more often.
    """
    random = np.random.default_rng(seed)
    likes = np.arange(USERS)[:, None] % KINDS == np.arange(ITEMS) % KINDS
    known = np.linspace(1.8, 0.2, ITEMS) * np.where(likes, 2.5, 0.5)
    users, items = np.nonzero(random.random(likes.shape) < share * known)
    return as_ratings((users, items, random.integers(1, 11, len(users)) / 2))


def fitted_of(ratings):
    return MatrixFactorization(n_factors=4, n_epochs=2, device="cpu").fit(ratings)


def test_lists_of_few_ratings_are_better_than_popularity():
    train, test = tastes().split(0.15, 0)
    model, popularity = fitted_of(train).evaluate_lists(test).rows(10)[:2]
    assert model["ndcg"] > 1.2 * popularity["ndcg"]


@pytest.mark.slow
def test_what_suits_plenty_of_ratings_is_worse_here(monkeypatch):
    train, test = tastes().split(0.15, 0)
    chosen = fitted_of(train).evaluate_lists(test, baselines=False).rows(10)[0]
    monkeypatch.setattr(learning, "chosen", lambda plan, *where: plan)
    usual = fitted_of(train).evaluate_lists(test, baselines=False).rows(10)[0]
    assert chosen["ndcg"] > 1.2 * usual["ndcg"]


@pytest.mark.slow
def test_the_choice_is_the_same_on_every_run():
    first, second = (fitted_of(tastes()).fit_lists()._head for _ in range(2))
    assert first.numbers.tolist() != PLENTY
    assert all(np.array_equal(one, other) for one, other in zip(first, second))


@pytest.mark.parametrize("limits", [{"few_ratings": 100, "ratings_a_row": 0.1}])
def test_plenty_of_ratings_are_not_asked(monkeypatch, limits):
    for name, value in limits.items():
        monkeypatch.setattr(RULES, name, value)
    monkeypatch.setattr(learning, "search_settings", None)
    assert fitted_of(tastes()).fit_lists()._head.numbers.tolist() == PLENTY


def test_too_few_users_cannot_judge():
    ratings = tastes()
    few = ratings.take(ratings.users < RULES.least_users - 1)
    assert fitted_of(few).fit_lists()._head.numbers.tolist() == PLENTY


def test_all_ratings_are_ones():
    ratings = tastes()
    ones = learning.rated_pairs(fitted_of(ratings)._history_on(cpu()), ratings.shape, cpu())
    assert ones.shape == ratings.shape and (ones.values == 1).all()
    pairs = [set(zip(one.users.tolist(), one.items.tolist())) for one in (ones, ratings)]
    assert pairs[0] == pairs[1] and len(ones) == len(ratings)
