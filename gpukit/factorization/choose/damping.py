"""Dampings of the biases of users and items, and their shrinkage targets.

Users and items have separate dampings (Koren 2010, sec. 2.1, has 10 and 25 for Netflix). The largest value of the grid
leaves the mean alone. A side may be shrunk to a line in its numbers of ratings (prepare/trend.py); a share of its slope
is kept (share.py), first of the items', then of the users'. If the mean alone predicts the judging ratings better, it
is taken.
"""

import numpy as np

from gpukit.factorization.baseline import DAMPING
from gpukit.factorization.choose.share import share_of

GRID = (1.0, 2.0, 3.0, 5.0, 8.0, 12.0, 20.0, 40.0, 100.0, 1e3, 1e6)
NOTHING_ELSE = GRID[-1], GRID[-1]
LARGE = 1e3  # dampings from here on are equal: the mean alone
FIRST = (3.0, 3.0)
ROUNDS = 2
USUAL, SPREAD = np.log(DAMPING), 1.5  # mean and deviation of the prior of a damping's logarithm
LEVEL, ITEMS, BOTH = (0.0, 0.0), (0.0, 1.0), (1.0, 1.0)  # shares of the users' and of the items' slope
SIDES = 2  # number of trends that are tried


def best_biases(evaluators):
    """Return (damping, trend, errors (n,) of the judging ratings).

    damping: of users and items, from GRID; trend: shares of their slopes.
    """
    level, errors = best_damping(evaluators, LEVEL, FIRST, ROUNDS)
    sloped, found = best_damping(evaluators, ITEMS, level, 1)
    items = share_of(found, errors, SIDES)
    damping, trend = (sloped, (0.0, items)) if items else (level, LEVEL)
    errors = judged(evaluators, damping, trend)
    users = share_of(judged(evaluators, damping, (1.0, items)), errors, SIDES)
    if users:
        trend = users, items
        errors = judged(evaluators, damping, trend)
    level = judged(evaluators, NOTHING_ELSE, LEVEL)
    return (damping, trend, errors) if errors @ errors <= level @ level else (NOTHING_ELSE, LEVEL, level)


def best_damping(evaluators, trend, first, rounds):
    """Return (dampings, errors (n,)): the most probable values of GRID.

    The sides are optimized alternately, `rounds` times, from `first`. The posterior has the squared errors, divided by
    the variance at `first`, and a log-normal prior of the dampings around the default.
    """
    known = {}

    def errors(damping):
        if damping not in known:
            known[damping] = judged(evaluators, damping, trend)
        return known[damping]

    def unlikely(damping):
        away = (np.log(np.minimum(damping, LARGE)) - USUAL) / SPREAD
        return errors(damping) @ errors(damping) / variance + away @ away

    best, variance = first, max(np.mean(errors(first) ** 2), np.finfo(float).tiny)
    for _ in range(rounds):
        best = min(((best[0], items) for items in GRID), key=unlikely)
        best = min(((users, best[1]) for users in GRID), key=unlikely)
    return best, errors(best)


def judged(evaluators, damping, trend):
    """Return the errors (n,) of damped biases on all evaluators' judging ratings."""
    return np.concatenate([evaluator.biased(damping, trend) for evaluator in evaluators])
