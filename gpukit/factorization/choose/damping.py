"""Dampings of the biases of users and items, and their shrinkage targets.

Users and items have separate dampings (Koren 2010, sec. 2.1, has 10 and 25 for Netflix). The largest value of the grid
leaves the mean alone. A side may be shrunk to a line in its numbers of ratings (prepare/trend.py); a share of its slope
is kept (share.py), first of the items', then of the users'. If the mean alone predicts the judging ratings better, it
is taken.
"""

import numpy as np

from gpukit.factorization.choose.share import share_of

GRID = (1.0, 2.0, 3.0, 5.0, 8.0, 12.0, 20.0, 40.0, 100.0, 1e3, 1e6)
NOTHING_ELSE = GRID[-1], GRID[-1]
START = 3.0  # damping of the users while that of the items is chosen
LEVEL, ITEMS = (0.0, 0.0), (0.0, 1.0)  # shares of the users' and of the items' slope
SIDES = 2  # number of trends that are tried


def best_biases(evaluators):
    """Return (damping, trend, errors (n,) of the held-out ratings).

    damping: of users and items, from GRID; trend: shares of their slopes.
    """
    level, errors = best_damping(evaluators, LEVEL, START)
    sloped, found = best_damping(evaluators, ITEMS, level[0])
    items = share_of(found, errors, SIDES)
    damping, trend = (sloped, (0.0, items)) if items else (level, LEVEL)
    errors = judged(evaluators, damping, trend)
    users = share_of(judged(evaluators, damping, (1.0, items)), errors, SIDES)
    if users:
        trend = users, items
        errors = judged(evaluators, damping, trend)
    level = judged(evaluators, NOTHING_ELSE, LEVEL)
    return (damping, trend, errors) if errors @ errors <= level @ level else (NOTHING_ELSE, LEVEL, level)


def best_damping(evaluators, trend, users):
    """Return (dampings, errors (n,)) with the lowest squared error, of GRID.

    That of the items is chosen first, with the damping `users` of the users.
    """
    items = min(GRID, key=lambda items: squared_error(evaluators, (users, items), trend))
    users = min(GRID, key=lambda users: squared_error(evaluators, (users, items), trend))
    return (users, items), judged(evaluators, (users, items), trend)


def squared_error(evaluators, damping, trend):
    """Return the sum of the squared errors of damped biases."""
    errors = judged(evaluators, damping, trend)
    return errors @ errors


def judged(evaluators, damping, trend):
    """Return the errors (n,) of damped biases on all evaluators' judging ratings."""
    return np.concatenate([evaluator.biased(damping, trend) for evaluator in evaluators])
