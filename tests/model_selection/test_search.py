"""Searches over candidates, finalists near the best one, and searches that end early."""

import numpy as np
import pytest

from gpukit.model_selection import trial
from gpukit.model_selection.search import Search
from gpukit.model_selection.trial import Budget, EarlyStopping, TimeBudget, Trial, extrapolate, finalists, is_behind


@pytest.mark.parametrize(
    "errors, expected",
    [
        ([3.0], [0]),
        ([3.0, 2.0, 2.5, 2.51, 9.0], [1, 2]),
        ([2.5, 2.5, 2.0, 2.4], [2, 3, 0]),
        ([0.0, 1e-300, 0.0], [0, 2]),
        ([np.inf, 1.0, np.nan], [1]),
    ],
)
def test_finalists_are_few_and_near_the_best_one(errors, expected):
    assert finalists(errors, 1.25, 3).tolist() == expected
    assert finalists(errors, 1.25, 1).tolist() == expected[:1]


def steps(errors, **options):
    """Return the step that ends a search, or None."""
    stopping = EarlyStopping(**options)
    for step, error in enumerate(errors, start=1):
        if stopping.is_over(error):
            assert stopping.errors == list(errors[:step])
            return step
    return None


def test_a_search_ends_at_its_goal_or_after_rising_for_long():
    rising = [5.0, *np.arange(6.0, 30.0)]
    assert steps([5.0, 3.0, 1.0, 0.5], patience=6, least_steps=100, goal=1.0) == 3
    assert steps(rising, patience=6, least_steps=3) == 7
    assert steps(rising, patience=6, least_steps=12) == 13
    assert steps([5.0, 6.0, 6.0, 4.0, 6.0, 6.0, 6.0], patience=3) == 7
    assert steps([5.0, 4.0, 3.0, -1.0], patience=2) is None


def test_the_best_step_is_the_first_of_the_least_error():
    stopping = EarlyStopping(3)
    assert [(stopping.is_over(error), stopping.best) for error in (2.0, 1.0, 1.0, 1.5, 9.0)] == [
        (False, 0),
        (False, 1),
        (False, 1),
        (False, 1),
        (True, 1),
    ]


def test_nothing_ends_without_patience():
    """And the last step is the best."""
    budget = Budget(0)
    stopping = EarlyStopping(0, goal=1.0, leader=[0.1], budget=budget)
    assert [(stopping.is_over(error), stopping.best) for error in (0.8, 0.9, 0.85, np.inf)] == [
        (False, step) for step in range(4)
    ]
    assert budget.is_spent


def test_a_spent_budget_ends_it():
    budget = Budget(2)
    stopping, ends = EarlyStopping(9, budget=budget), []
    for error in (3.0, 2.0, 1.0):
        budget.spend(1)
        ends.append(stopping.is_over(error))
    assert ends == [False, True, True]


def test_a_limit_goes_on_as_a_curve_falls():
    assert extrapolate([1.0, 0.9]) == -np.inf  # too few steps
    assert extrapolate([1.0, 0.9, 0.85]) == pytest.approx(0.8)  # 0.05, 0.025, 0.0125, ... lower
    assert extrapolate([1.0, 0.9, 0.95]) == 0.95 and extrapolate([0.9, 1.0, 0.95]) == 0.95
    assert extrapolate([1.0, 0.9, 0.8]) < 0.0  # no limit in sight


@pytest.mark.parametrize(
    "errors, expected",
    [
        ([1.1, 1.05, 1.04], True),  # behind, with an estimated limit of 1.0375
        ([1.1, 1.05], False),  # too early to estimate
        ([1.1, 1.0, 0.95], False),  # behind, with an estimated limit of 0.9, which is better
        ([0.99, 0.93, 0.919], False),  # ahead of the leader at the same step, with an estimated limit of 0.9165
        ([1.2, 1.1, 1.005, 0.92, 0.88], False),  # better than the leader's best
        ([1.1, 1.0, 0.96, 0.945, 0.94, 0.938], True),  # beyond the leader's last step
    ],
)
def test_candidates_behind_the_leader(errors, expected):
    leader = [1.0, 0.95, 0.92, 0.91, 0.93]
    assert is_behind(errors, leader, -0.001) == expected and not is_behind(errors, leader, 0.2)
    stopping = EarlyStopping(9, leader=leader, margin=-0.001)
    assert [stopping.is_over(error) for error in errors][-1] == expected


class Peak:
    """Splits whose scores are highest for a candidate of `goal`; trained: (candidate, split) of each training."""

    def __init__(self, goal, limit=np.inf, luck=(0.0, 0.0)):
        self.goal, self.trained, self.reported = goal, [], []
        evaluators = [lambda candidate, split=split: self.train(candidate, luck[split], split) for split in range(2)]
        self.search = Search(evaluators, self.summarize, Budget(limit), self.reported.append)

    def train(self, candidate, luck, split):
        self.trained.append((candidate, split))
        self.search.budget.spend(1)
        return np.linspace(0, 1, 9) - abs(np.log(candidate / self.goal)) + luck * (candidate > 1) * np.arange(-3, 6)

    def summarize(self, candidate, results):
        return Trial(candidate, np.mean(results, axis=0), {"splits": len(results)})

    def climb(self, step=2.0, **options):
        return self.search.climb(self.search.run(1.0), lambda candidate, by: candidate * by, step, **options).candidate


def test_a_candidate_is_trained_once_on_each_split_and_reported_once():
    peak = Peak(1.0)
    one = peak.search.run(4.0)
    assert peak.search.run(4.0).row == {"splits": 1} and peak.search.run(4.0, 2).row == {"splits": 2}
    assert peak.trained == [(4.0, 0), (4.0, 1)] and peak.reported == peak.search.trials == [one]
    assert peak.search.best is one and Search([]).best is None


def test_a_candidate_whose_epochs_were_found_is_not_trained_again():
    peak = Peak(1.0)
    peak.search.summarize = lambda candidate, results: Trial(candidate / 2, results[0], {})
    found = peak.search.run(4.0).candidate
    assert found == 2.0 and peak.search.run(found) and peak.trained == [(4.0, 0)]


def test_candidates_are_tried_until_the_budget_is_spent():
    for limit, count in ((0, 1), (1, 1), (2, 2), (99, 3)):
        peak = Peak(1.0, limit)
        assert peak.search.run_all((4.0, 2.0, 1.0)) == (count == 3) and len(peak.trained) == count
        assert peak.search.best.candidate == (4.0, 2.0, 1.0)[count - 1]


@pytest.mark.parametrize(
    "goal, tried", [(8.0, [1, 0.5, 2, 4, 8, 16]), (0.25, [1, 0.5, 0.25, 0.125]), (1.0, [1, 0.5, 2])]
)
def test_steps_go_down_or_else_up_as_long_as_they_are_better(goal, tried):
    peak = Peak(goal)
    assert peak.climb() == goal and peak.trained == [(candidate, 0) for candidate in tried]


def test_steps_end():
    """After four, and with the budget."""
    assert Peak(1e-9).climb() == 0.5**4 and Peak(1e9).climb() == 16.0
    peak = Peak(1e9, 3)
    assert peak.climb() == 2.0 and len(peak.trained) == 3


def test_steps_that_may_be_luck_are_tried_on_further_splits_and_not_taken():
    peak = Peak(1.41, luck=(1.0, -1.0))
    assert peak.climb() == 1.0 and (2.0, 1) in peak.trained and (0.5, 1) not in peak.trained
    assert Peak(1.42, luck=(1.0, -1.0)).climb(certain=0.0) == 2.0


def test_the_result_of_the_best_step_is_kept():
    stopping, last = EarlyStopping(9), EarlyStopping(0)
    for result, error in zip("abcd", (3.0, 1.0, 1.0, 2.0)):
        stopping.is_over(error, result)
        last.is_over(error, result)
    assert (stopping.result, last.result) == ("b", "d")


def test_a_budget_of_seconds(monkeypatch):
    clock = [100.0]
    monkeypatch.setattr(trial.time, "monotonic", lambda: clock[0])
    budget = TimeBudget(2.5)
    assert budget.left == 2.5 and not budget.is_spent
    clock[0] += 2.5
    assert budget.is_spent
    budget.limit *= 2
    assert not budget.is_spent and budget.left == 2.5


def test_only_the_best_trial_is_kept():
    runs = []
    search = Search(
        [lambda candidate: runs.append(candidate) or Trial(candidate, np.array([-abs(candidate - 2.0)]), {})]
    )
    search.run_all([1.0, 2.0, 3.0])
    best = search.keep_best()
    assert (best.candidate, search.trials, list(search.results)) == (2.0, [best], [2.0])
    search.run(2.0)
    assert runs == [1.0, 2.0, 3.0]
