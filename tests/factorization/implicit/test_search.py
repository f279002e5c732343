"""The search for settings, over candidates whose worth is made up."""

from types import SimpleNamespace

import numpy as np
import pytest

from gpukit.factorization import MatrixFactorization
from gpukit.factorization.implicit import choosing
from gpukit.factorization.settings import check

OPEN = {"n_factors", "n_epochs", "regularization", "unobserved_weight"}


def contest_of(free=OPEN):
    return choosing.Contest(None, set(free), ("ials",), 2, [], lambda *told: None)


class Trial:
    """Candidates that are worth what a function of settings.Settings says; asked: all of them, in order."""

    def __init__(self, worth, shape=(6000, 4000)):
        self.worth, self.asked = worth, []
        clicks = type("Clicks", (), {"shape": shape, "__len__": lambda self: 1_000_000})()
        self.prepared = SimpleNamespace(clicks=clicks)

    def tried(self, plan, patience=0):
        self.asked.append(plan)
        worth = self.worth(plan)
        row = lambda predictor: {"predictor": predictor, "ndcg": worth}  # noqa: E731
        return SimpleNamespace(settings=plan, gains=np.array([worth]), row=row), f"state of {len(self.asked)}"


def plan(**changes):
    """settings.Settings of least squares as they are usual."""
    return check(MatrixFactorization(solver="ials"), 100, "implicit")._replace(**changes)


def far(value, goal):
    """How far a number is from another, in factors."""
    return abs(np.log(value / goal))


def peak(settings, weight=0.6, decay=0.003):
    return 1.0 - 0.1 * far(settings.unobserved_weight, weight) - 0.1 * far(settings.regularization, decay)


def test_finer_steps_come_nearer_with_the_fewest_factors():
    trial = Trial(peak)
    best = choosing.grown(contest_of(), trial, plan(), False)[0].settings
    assert far(best.unobserved_weight, 0.6) < np.log(1.7) / 2 and far(best.regularization, 0.003) < np.log(1.4) / 2
    sizes = [one.n_factors for one in trial.asked]
    assert sizes[0] == 64 and sizes == sorted(sizes) and sizes.count(128) == 2  # no better, and not if held harder
    assert best.n_factors == 64


@pytest.mark.parametrize("free", [{"regularization"}, {"unobserved_weight"}, set()])
def test_what_is_named_stays(free):
    trial = Trial(peak)
    choosing.grown(contest_of(free), trial, plan(), False)
    for axis in ("regularization", "unobserved_weight"):
        assert (len({getattr(one, axis) for one in trial.asked}) > 1) == (axis in free)


def test_more_factors_are_held_harder_before_they_are_given_up():
    def worth(settings):
        best = 0.007 * (settings.n_factors / 64) ** 0.5
        return 1.0 + 0.02 * settings.n_factors / 64 - 0.1 * far(settings.regularization, best)

    found, state = choosing.grown(contest_of({"regularization", "n_factors"}), Trial(worth), plan(), False)
    assert found.settings.n_factors == 192 and found.settings.regularization > 0.009
    assert state.startswith("state of")


@pytest.mark.parametrize(
    "share, free, is_held", [(0.2, OPEN, True), (0.6, OPEN, False), (0.2, OPEN - {"n_epochs"}, False)]
)
def test_who_was_best_early_is_held_harder_as_long_as_it_gets_better(monkeypatch, share, free, is_held):
    """A leader that was best after less than half of its epochs learned by heart what it went on to."""
    monkeypatch.setattr(choosing, "FINER", 0.0)
    monkeypatch.setattr(choosing, "FACTORS", (64,))
    trial, began = Trial(lambda settings: peak(settings, decay=0.05)), plan(regularization=0.01)
    stopped = SimpleNamespace(
        prepared=trial.prepared,
        tried=lambda plan, patience: trial.tried(plan._replace(epochs=round(share * plan.epochs)), patience),
    )
    best = choosing.grown(contest_of(free), stopped, began, False)[0].settings
    if is_held:
        assert far(best.regularization, 0.05) < np.log(choosing.HARDER) / 2
        assert trial.asked[-1].regularization > best.regularization  # which was no better
    else:
        assert best.regularization == 0.01 and len(trial.asked) == 1


def test_finer_steps_are_left_out_where_they_take_long(monkeypatch):
    monkeypatch.setattr(choosing, "FINER", 0.0)
    trial = Trial(peak)
    choosing.grown(contest_of({"regularization", "unobserved_weight"}), trial, plan(n_factors=64), False)
    assert len(trial.asked) == 1


def test_every_candidate_is_told():
    contest, trial = contest_of(), Trial(peak)
    choosing.grown(contest, trial, plan(), False)
    assert len(contest.rows) == len(trial.asked)
