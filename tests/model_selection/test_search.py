"""Finalists near the best candidate, and searches that end early."""

import numpy as np
import pytest

from gpukit.model_selection.search import EarlyStopping, finalists


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
