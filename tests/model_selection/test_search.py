"""Finalists near the best candidate, and searches that end early."""

import numpy as np
import pytest

from gpukit.model_selection.trial import Budget, EarlyStopping, extrapolate, finalists, is_behind


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
