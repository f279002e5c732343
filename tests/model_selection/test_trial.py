"""Candidates compared user by user, the simplest of the indistinguishable ones, a budget."""

import numpy as np
import pytest

from gpukit.model_selection.budget import Budget
from gpukit.model_selection.trial import Trial, simplest_of
from model_selection.naive import paired


def trial(name, scores):
    return Trial(name, np.asarray(scores, np.float64), {})


@pytest.mark.parametrize("n_users", [2, 3, 647])
def test_the_gain_is_paired_over_users(n_users):
    random = np.random.default_rng(n_users)
    ours, theirs = random.random((2, n_users))
    np.testing.assert_allclose(trial("a", ours).gain(trial("b", theirs)), paired(ours, theirs), rtol=1e-12)


def test_users_that_differ_do_not_hide_a_difference():
    """Scores spread by 0.3; each user's is higher by 0.002, give or take as much."""
    random = np.random.default_rng(0)
    users = random.random(647)
    better = users + 0.002 + random.normal(0, 0.002, 647)
    assert trial("a", better).is_better(trial("b", users)) and not trial("b", users).is_better(trial("a", better))
    assert not trial("a", random.permutation(better)).is_better(trial("b", users))


def test_one_user_has_no_error():
    assert trial("a", [0.5]).gain(trial("b", [0.2])) == (pytest.approx(0.3), 0.0)


def test_the_simplest_of_those_that_cannot_be_told_apart():
    random = np.random.default_rng(1)
    users = random.random(400)
    plain = trial("plain", users - 0.01)
    middle = trial("middle", users)
    largest = trial("largest", users + random.permutation(np.tile([0.05, -0.049], 200)))
    assert largest.mean > middle.mean
    assert simplest_of([plain, middle, largest]) is middle
    assert simplest_of([largest, middle, plain]) is largest
    assert simplest_of([plain]) is plain and simplest_of([plain, trial("as plain", plain.scores)]) is plain


def test_a_budget_is_spent():
    budget = Budget(10)
    budget.spend(9.5)
    assert not budget.is_spent and budget.left == 0.5 and budget.limit == 10
    budget.spend(0.5)
    assert budget.is_spent
