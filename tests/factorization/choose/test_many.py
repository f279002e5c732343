"""Trials on very many ratings: candidates that lag behind the best are stopped early."""

from types import SimpleNamespace

import numpy as np
import pytest

from factorization.inputs import planted
from gpukit.factorization import MatrixFactorization
from gpukit.factorization import choose as choice
from gpukit.factorization.choose import curve_of, rms, train_candidate, work_of_epoch
from gpukit.factorization.constants import RULES
from gpukit.factorization.solvers import rates
from gpukit.model_selection import trial


def test_the_rmse_is_infinite_after_divergence():
    assert rms(np.array([3.0, 4.0])) == pytest.approx(12.5**0.5)
    assert rms(np.array([1.0, np.nan])) == rms(np.array([1e200, 1.0])) == np.inf


class Part:
    """An evaluator of 2 ratings whose errors by epoch are given."""

    def __init__(self, *errors):
        self.errors, self.orders = errors, range(2)

    def begin(self, settings):
        return self.epoch

    def epoch(self, number):
        return np.full(1, self.errors[number])


@pytest.mark.parametrize(
    "errors, patience, best, trained",
    [
        ((1.0, 0.9, 0.95, 0.8), 0, 4, 4),
        ((1.0, 0.9, 0.95, 0.96, 0.8), 2, 2, 4),
        ((1.0, 0.9, 0.95, 0.9, 0.8), 3, 5, 5),
        ((1.0, np.nan, 0.5), 9, 1, 2),
        ((1.0, np.inf, 0.5), 0, 3, 3),
    ],
)
def test_the_trial_is_that_of_the_best_epoch(errors, patience, best, trained):
    """Of the error over the held-out ratings of all parts; a training that has diverged ends."""
    settings = MatrixFactorization(n_factors=4, n_epochs=len(errors)).check(9)
    budget, events = trial.Budget(1e9), []
    parts = Part(*errors), Part(*(2 * error for error in errors))
    stopping = trial.EarlyStopping(patience, budget=budget)
    result = train_candidate(parts, settings, stopping, lambda *event: events.append(event))
    assert result.candidate == settings._replace(epochs=best)
    assert result.scores.tolist() == [-(errors[best - 1] ** 2), -((2 * errors[best - 1]) ** 2)]
    assert (-result.mean) ** 0.5 == result.row["rmse"] == pytest.approx(2.5**0.5 * errors[best - 1])
    assert [row["epoch"] for row in result.row["curve"]] == list(range(1, trained + 1)) and len(events) == trained
    assert curve_of(result) == [rmse for _, rmse in events] and budget.limit - budget.left == trained * 4 * 12


@pytest.mark.slow
def test_candidates_behind_are_given_up(monkeypatch):
    """The model is as accurate with shorter trials."""
    train, test = planted(100, 40, 0.5, seed=1).split(0.2, 0)
    spent, scores = [], []
    for rule in (lambda *it: False, trial.is_behind):
        monkeypatch.setattr(trial, "is_behind", rule)
        fitted = MatrixFactorization(device="cpu").fit(train)
        spent.append(sum(len(row["curve"]) for row in fitted.trials_))
        scores.append(-fitted.score(test))
        assert len(fitted.trials_[1]["curve"]) > 3  # the first candidate has no leader
    assert spent[1] < spent[0] and scores[1] < 1.01 * scores[0]


def test_epochs_that_are_named_are_tried_whole():
    fitted = MatrixFactorization(n_epochs=4, device="cpu").fit(planted(100, 40, 0.5, seed=1))
    assert {len(row["curve"]) for row in fitted.trials_ if row["n_factors"]} == {4}


@pytest.mark.parametrize("epochs", [None, 3])
def test_settings_are_chosen_on_a_sample_of_users(monkeypatch, epochs):
    """Its size does not depend on that of the data. The number of epochs is at least the usual one."""
    sizes, make = [], choice.RatingEvaluator
    monkeypatch.setattr(rates, "default_epochs", lambda n_ratings: 30)
    monkeypatch.setattr(choice, "RatingEvaluator", lambda *it: sizes.append(len(it[1]) + len(it[2])) or make(*it))
    monkeypatch.setattr(RULES, "choice_sample", 700)
    for n_users in (60, 120):
        ratings = planted(n_users, 40, 0.5, seed=1)
        fitted = MatrixFactorization(n_epochs=epochs, device="cpu").fit(ratings)
        assert len(fitted.history_) == epochs or (not epochs and len(fitted.history_) >= 30)
    assert 500 < min(sizes) and max(sizes) <= 700


# The budget


def limited(monkeypatch, trainings, **named):
    """Return (model, used fraction of the budget) of a fit with a limited budget.

    The budget is a number of trainings of 20 epochs at F = K = 32.
    """
    monkeypatch.setattr(trial, "LITTLE", 0)
    monkeypatch.setattr(trial, "TRAININGS", trainings)
    ratings = planted(100, 40, 0.5, seed=1)
    fitted = MatrixFactorization(device="cpu", **named).fit(ratings)
    spent = [len(row["curve"]) * (row["n_factors"] + 8) for row in fitted.trials_]
    return fitted, sum(spent) / (trainings * RULES.choice_epochs * 104)


@pytest.mark.slow
def test_choosing_ends_where_its_budget_is_spent(monkeypatch):
    """Choosing ends within an epoch of the budget, with the best so far."""
    whole, part = limited(monkeypatch, 40)
    short, all_of_it = limited(monkeypatch, 0.6)
    assert part < 0.9 and "too long" not in whole.chosen_["why"]
    assert 1 <= all_of_it < 1.1 and short.chosen_["why"].endswith("too long")
    assert 1 < len(short.trials_) < len(whole.trials_)
    assert [row["rmse"] for row in short.trials_[:2]] == [row["rmse"] for row in whole.trials_[:2]]


def test_a_budget_begins_one_candidate_and_cuts_no_named_epochs_short(monkeypatch):
    fitted, _ = limited(monkeypatch, 0.01, n_epochs=7)
    assert [len(row["curve"]) for row in fitted.trials_] == [7]


def test_stopping_early_is_what_was_asked_for(monkeypatch):
    asked = {"n_factors": 4, "n_epochs": 9, "regularization": 0.05, "early_stopping": 9}
    fitted, _ = limited(monkeypatch, 0.01, **asked)
    assert len(fitted.trials_[0]["curve"]) == 9 and "too long" not in fitted.chosen_["why"]


def test_work_of_an_epoch():
    """In multiplications of all evaluators; a neighbour costs two factors."""
    parts = [SimpleNamespace(orders=range(size)) for size in (30, 70)]
    settings = SimpleNamespace(n_factors=32, n_neighbors=32)
    assert work_of_epoch(parts, settings) == 100 * 104


def test_a_choice_costs_at_most_ten_trainings():
    assert trial.Budget.of_trainings(1e12).limit == 1e13 and trial.Budget.of_trainings(1.0).limit == trial.LITTLE
