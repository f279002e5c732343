"""Defaults for dense ratings are used if a sample of users has learnable structure."""

import numpy as np
import pytest

from factorization.inputs import planted
from gpukit.device import cpu
from gpukit.factorization import LSHMF, MatrixFactorization
from gpukit.factorization import choose as choice
from gpukit.factorization.constants import RULES
from gpukit.ratings import Ratings


def noise(users=60, items=50, seed=0):
    """Return a full table of ratings of pure noise."""
    i, j = (side.ravel().astype(np.int32) for side in np.indices((users, items)))
    values = np.random.default_rng(seed).integers(1, 6, len(i)).astype(np.float32)
    return Ratings(i, j, values, np.arange(users), np.arange(items))


@pytest.fixture
def plenty(monkeypatch):
    """Make 40 ratings per row dense, and two fifths of users a sample.

    There are 60 users.
    """
    monkeypatch.setattr(RULES, "few_ratings", 0)
    monkeypatch.setattr(RULES, "ratings_a_row", 40)
    monkeypatch.setattr(RULES, "check_sample", 1200)


def suits(ratings, **named):
    """Return True if the defaults suit the ratings."""
    model = MatrixFactorization(device="cpu", **named)
    return choice.is_default_suitable(model, ratings, model.check(len(ratings)), cpu())


def test_taste_is_relied_on_and_noise_is_not(plenty):
    for seed in range(4):
        assert suits(planted(60, 50, 1.0, seed=seed), random_state=seed)
        assert not suits(noise(seed=seed), random_state=seed)


def test_plenty_of_noise_is_damped_biases(plenty):
    """Chance decides otherwise for a few draws, and harms little then."""
    predictors = []
    for seed in range(4):
        train, test = noise(seed=seed).split(0.1, 0)
        fitted = MatrixFactorization(device="cpu").fit(train)
        predictors.append(fitted.chosen_["predictor"])
        assert fitted.trials_
        assert -fitted.score(test) < 1.02 * np.sqrt(np.mean((test.values - train.values.mean()) ** 2))
    assert predictors.count("damped biases") >= 3
    taste = MatrixFactorization(device="cpu").fit(planted(60, 50, 1.0))
    assert taste.trials_ == [] and "plenty of ratings (50 or more a user and item)" in taste.chosen_["why"]


@pytest.mark.slow
def test_few_ratings_are_always_chosen_for():
    """For any number of ratings per row."""
    fitted = LSHMF(device="cpu", lsh_q=8).fit(planted(250, 12, 1.0))
    assert len(fitted.trials_) > 3
    assert choice.is_doubtful(RULES.few_ratings, (2, 2)) and not choice.is_doubtful(RULES.few_ratings + 1, (2, 2))


def test_very_many_are_not_looked_at(plenty, monkeypatch):
    monkeypatch.setattr(RULES, "very_many_ratings", 3000)
    monkeypatch.setattr(choice, "folds", lambda *_: pytest.fail("they are sampled"))
    assert suits(noise())
