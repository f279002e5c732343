"""Damped biases: how many ratings' worth of what they are shrunk to users and items begin with, and what that is.

Users and items want dampings of their own (Koren 2010, sec. 2.1, has 10 and 25 for Netflix). The largest of the grid is
the level alone. A side may be shrunk to a line in its numbers of ratings (prepare/trend.py), of which counts what is
certain of what it adds (share.py): first the items', then the users'. Whatever is usual, what predicts the judging
ratings worse than the level alone is not taken.
"""

import numpy as np

from gpukit.factorization.baseline import DAMPING
from gpukit.factorization.choose.share import share_of

GRID = (1.0, 2.0, 3.0, 5.0, 8.0, 12.0, 20.0, 40.0, 100.0, 1e3, 1e6)
NOTHING_ELSE = GRID[-1], GRID[-1]
LARGE = 1e3  # dampings from here on are one: nothing but the level
FIRST = (3.0, 3.0)
ROUNDS = 2
USUAL, SPREAD = np.log(DAMPING), 1.5  # of a damping's logarithm, before any rating judges
LEVEL, ITEMS, BOTH = (0.0, 0.0), (0.0, 1.0), (1.0, 1.0)  # shares of the users' and of the items' slope
SIDES = 2  # that are tried


def best_biases(evaluators):
    """(damping, trend, (n,) errors of the judging ratings): dampings of users and items, the best of GRID, and shares
    of their slopes."""
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
    """(dampings, (n,) errors): the likeliest of GRID, a side at a time, so many times around, beginning with the first.

    Likely is what predicts well and, where too few ratings judge to tell, what is usual: squared errors count by the
    first ones' variance, and dampings are log-normal beforehand.
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
    """(n,) errors of damped biases on the judging ratings of all evaluators."""
    return np.concatenate([evaluator.biased(damping, trend) for evaluator in evaluators])
