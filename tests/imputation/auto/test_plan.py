"""Reports of evaluated methods, learned and evaluated on different folds."""

from types import SimpleNamespace

import numpy as np
import pytest

from gpukit.imputation.auto import judging, plan, uncertainty
from gpukit.imputation.auto.judging import Candidate, Fold
from gpukit.imputation.auto.plan import Plan
from gpukit.model_selection.trial import Trial


def judged_trial(name, estimates=(), residuals=(), setting=None):
    """A Trial of a method with estimates, and residuals of six values on each fold."""
    row = {"estimates": estimates, "residuals": [np.full(6, value) for value in residuals]}
    return Trial(Candidate(SimpleNamespace(name=name), setting or {}), np.zeros(6), row)


def fold(columns):
    """A Fold of 3 x 6 zeros that hides some columns."""
    hidden = np.zeros((3, 6), bool)
    hidden[:, columns] = True
    return Fold(hidden, None, np.zeros((3, 6)))


@pytest.mark.parametrize("metric", ["absolute", "squared"])
def test_errors_of_methods_tried_on_one_fold_are_scaled_to_all(metric):
    """Errors on one fold are scaled by a method evaluated on both.

    That method has error 1 on the first fold and 3 on the second, so its error on both is twice that on the first.
    """
    setting = {"options": 7, "lags": 3}
    trials = [judged_trial("local", (), (1.0, -3.0), setting), judged_trial("smoothness", (), (5.0,), setting)]
    rows = plan.report(trials, 2, {"local": 1.0}, metric)
    assert [(row.name, row.error, row.folds, row.share) for row in rows] == [
        ("local", pytest.approx(2.0), 2, 1.0),
        ("smoothness", pytest.approx(10.0), 1, 0.0),
    ]
    assert rows[1].setting == {"lags": 3} and rows[1].absolute == rows[1].rms == pytest.approx(10.0)


def test_a_method_tried_on_all_folds_is_not_scaled():
    trials = [judged_trial("local", (), (1.0, -3.0)), judged_trial("seasonal", (), (2.0, 4.0))]
    row = plan.report(trials, 2, {}, "absolute")[1]
    assert (row.name, row.error, row.folds, row.spread) == ("seasonal", 3.0, 2, pytest.approx(2**0.5))


def test_methods_without_errors_scale_nothing():
    trials = [judged_trial("local", (), (0.0, 0.0)), judged_trial("seasonal", (), (2.0,))]
    assert [row.error for row in plan.report(trials, 2, {}, "absolute")] == [0.0, 2.0]


@pytest.mark.parametrize("strengths", [(0.0,) * 3, (1.0,) * 3])
def test_deviations_of_a_fold_are_learned_on_the_others(strengths):
    """Errors of a fold have one size, which ends the others' intervals."""
    count, features = 500, np.zeros((500, uncertainty.FEATURES))
    kinds = np.full(count, judging.ALWAYS, np.int8)
    parts = [uncertainty.Errors(np.full(count, size), kinds, features, *[np.arange(count)] * 4) for size in (1.0, 4.0)]
    found = uncertainty.WIDE * uncertainty.predict_left_out(parts, strengths)
    np.testing.assert_allclose(found, np.repeat([4.0, 1.0], count))


def test_units_are_counted_over_all_folds():
    """The first fold hides two vertices whole and a run of a third; the second one a vertex whole."""
    hidden = np.zeros((2, 4, 5), bool)
    hidden[0, :2] = hidden[1, 3] = hidden[0, 2, 1:3] = True
    fold_kinds = np.full((2, 4, 5), judging.ALWAYS, np.int8)
    fold_kinds[0, :2] = fold_kinds[1, 3] = judging.NEVER
    folds = [Fold(mask, None, None) for mask in hidden]
    assert plan.count_units(folds, fold_kinds) == (3, 1)


def test_methods_with_tiny_shares_are_dropped(monkeypatch):
    drawn = np.tile([0.5, 0.496, 0.004], (judging.KINDS, 1))
    drawn[3] = [0.001, 0.999, 0.0]
    monkeypatch.setattr(plan, "shares_of", lambda *arguments: drawn)
    judged = [judged_trial(name, [np.zeros((3, 6))]) for name in ("local", "seasonal", "kriging")]
    members, shares = plan.choose_members([fold([1])], [np.zeros((3, 6), np.int8)], judged, "absolute")
    assert [member.candidate.name for member in members] == ["local", "seasonal"]
    np.testing.assert_allclose(shares[0], [0.5 / 0.996, 0.496 / 0.996])
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)


@pytest.mark.parametrize("runs, is_mixed", [(5, False), (6, True)])
def test_few_runs_have_the_best_method_alone(runs, is_mixed):
    """Errors of two methods cancel; each run is hidden in all of three series at once."""
    hidden = np.zeros((3, 40), bool)
    hidden[:, 1 : 4 * runs : 4] = True
    errors = np.array([1.0, -1.1])[:, None, None] * np.ones((3, 40), np.float32)
    judged = [judged_trial(name, [one]) for name, one in zip(("local", "seasonal"), errors)]
    folds = [Fold(hidden, None, np.zeros((3, 40)))]
    _, shares = plan.choose_members(folds, [np.full((3, 40), judging.ALWAYS, np.int8)], judged, "absolute")
    assert (shares[judging.ALWAYS].max() < 1) == is_mixed


@pytest.mark.parametrize(
    "names, offset, expected", [(["local"], 0, "local"), (["local", "seasonal"], 0, "mix"), (["local"], 1, "mix")]
)
def test_a_plan_is_named_by_its_only_method(names, offset, expected):
    members = [(name, {}) for name in names]
    assert Plan(members, None, np.full((2, 2, 3), offset), None, [], []).method == expected
