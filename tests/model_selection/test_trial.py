"""Candidates compared user by user, the simplest of the indistinguishable ones, a budget."""

import numpy as np
import pytest

from gpukit.model_selection.trial import Budget, Trial, best_of, has_passed_best, list_finalists, simplest_of
from model_selection.naive import paired, ratio


def trial(name, scores, weights=1.0):
    return Trial(name, np.asarray(scores, np.float64), {}, weights)


@pytest.mark.parametrize("n_users", [2, 3, 647])
def test_the_gain_is_paired_over_users(n_users):
    random = np.random.default_rng(n_users)
    ours, theirs = random.random((2, n_users))
    np.testing.assert_allclose(trial("a", ours).gain(trial("b", theirs)), paired(ours, theirs), rtol=1e-12)


def test_the_gain_of_weighted_units():
    """Units without weight do not count, and the size of the weights does not either."""
    random = np.random.default_rng(0)
    ours, theirs, weights = random.random((3, 50))
    weights[::7] = 0.0
    for factor in (1.0, 1e6):
        one, other = (trial("", scores, factor * weights) for scores in (ours, theirs))
        np.testing.assert_allclose(one.gain(other), ratio(ours, theirs, weights), rtol=1e-12)
        assert one.mean == pytest.approx(np.average(ours, weights=weights), rel=1e-12)
        assert one.gain(other)[0] == pytest.approx(one.mean - other.mean)
    one, other = (trial("", scores, np.full(50, 3.0)) for scores in (ours, theirs))
    np.testing.assert_allclose(one.gain(other), paired(ours, theirs), rtol=1e-12)


def test_the_error_is_that_of_repeated_samples():
    """The error of a ratio whose weights vary with the sample."""
    random = np.random.default_rng(0)
    weights = random.integers(1, 40, (400, 100)).astype(float)
    gains = 0.1 + random.normal(size=weights.shape)
    zeros = np.zeros(100)
    results = np.array([trial("", one, w).gain(trial("", zeros, w)) for one, w in zip(gains, weights)])
    assert results[:, 0].std() == pytest.approx(results[:, 1].mean(), rel=0.1)


def test_further_units():
    first, more = trial("a", [1.0, 2.0], np.array([1.0, 3.0])), trial("a", [5.0], np.array([4.0]))
    assert first.extend(more).mean == (1 + 6 + 20) / 8 and first.extend(more).candidate == "a"
    assert first.extend(more).scores.tolist() == [1.0, 2.0, 5.0]


def test_the_simplest_and_the_best_are_finalists():
    one, two, three, four = trials = [trial(name, [mean]) for name, mean in enumerate((2.0, 1.0, 3.0, 3.0))]
    assert best_of(trials) is three
    assert list_finalists(trials) == [one, three] and list_finalists([four, two]) == [four]


def test_a_path_ends_after_its_best():
    """After two that are worse by more than an error; one alone may be by chance."""
    noise = np.tile([0.01, -0.01], 50)
    scores = (0.1, 0.5 + noise, 0.4, 0.499 - noise, 0.3, 0.2)
    path = [trial(at, own + 0 * noise) for at, own in enumerate(scores)]
    ends = [has_passed_best(path[: count + 1]) for count in range(6)]
    assert ends == [False, False, False, False, False, True]
    assert not has_passed_best([]) and not has_passed_best(path[:1]) and not has_passed_best(path[::-1])
    assert not has_passed_best([path[4], path[5]]) and has_passed_best([path[1], path[2], path[4]])


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
