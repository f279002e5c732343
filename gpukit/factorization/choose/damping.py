"""Damped biases, their shrinkage targets, and the shrinkage of the best candidate.

Users and items have separate dampings (Koren 2010, sec. 2.1, has 10 and 25 for Netflix). The largest value of the grid
leaves the mean alone. A side may be shrunk to a line in its numbers of ratings (prepare/trend.py); a share of its slope
is kept (`share_of`), first of the items', then of the users'. If the mean alone predicts the judging ratings better, it
is taken.

A candidate adds f to the predictions of the biases, whose errors are e. The least-squares coefficient is a = sum(e f) /
sum(f^2), which is z standard errors above 0. The share, 0 to 1, is

    a (1 - c^2 / z^2) where z > c, else 0;    c^2 = 2 log(candidates)

This is the garrote of one coefficient (Breiman 1995) at the universal threshold (Donoho and Johnstone 1994), which the
best of that many candidates reaches by chance. A clear improvement is kept nearly whole, chance results are dropped,
and small uncertain improvements are shrunk until they are harmless.
"""

import functools

import numpy as np

from gpukit.factorization.constants import RULES

NOTHING_ELSE = RULES.damping_grid[-1], RULES.damping_grid[-1]
LEVEL, ITEMS = (0.0, 0.0), (0.0, 1.0)  # shares of the users' and of the items' slope


def share_of(errors, than, tried):
    """Return the share, 0.0 to 1.0.

    errors (n,) float64: truth minus predictions of the best of `tried` candidates; than (n,): of damped biases, for the
    same ratings.
    """
    sure = 1.0  # minimum of c: the number of epochs of a single candidate is chosen too
    added = than - errors
    total = added @ added
    if not total > 0:
        return 0.0
    best = (than @ added) / total
    spread = np.linalg.norm(added * (than - best * added)) / total
    luck = max(sure, 2.0 * np.log(tried)) * spread**2
    if not best > np.sqrt(luck):
        return 0.0
    return float(min(1.0, best * (1.0 - luck / best**2)))


def blended(errors, than, share):
    """Return the errors (n,) of damped biases and a candidate's shrunk addition."""
    return than + share * (errors - than)


def best_biases(evaluators):
    """Return (damping, trend, errors (n,) of the held-out ratings).

    damping: of users and items, from damping_grid; trend: shares of their slopes.
    """
    sides = 2  # number of trends that are tried
    errors_of = functools.cache(functools.partial(held_out_errors, evaluators))
    damping, trend = best_damping(errors_of, LEVEL, RULES.first_damping), LEVEL
    sloped = best_damping(errors_of, ITEMS, damping[0])
    items = share_of(errors_of(sloped, ITEMS), errors_of(damping, trend), sides)
    if items:
        damping, trend = sloped, (0.0, items)
    users = share_of(errors_of(damping, (1.0, items)), errors_of(damping, trend), sides)
    if users:
        trend = users, items
    choices = (damping, trend), (NOTHING_ELSE, LEVEL)
    best = min(choices, key=lambda choice: squared(errors_of(*choice)))
    return *best, errors_of(*best)


def best_damping(errors_of, trend, users):
    """Return the dampings of damping_grid with the lowest squared error.

    That of the items is chosen first, with the damping `users` of the users. errors_of(damping, trend): errors (n,).
    """
    items = min(RULES.damping_grid, key=lambda items: squared(errors_of((users, items), trend)))
    return min(RULES.damping_grid, key=lambda users: squared(errors_of((users, items), trend))), items


def squared(errors):
    """Return the sum of squares."""
    return errors @ errors


def held_out_errors(evaluators, damping, trend):
    """Return the errors (n,) of damped biases on all evaluators' held-out ratings."""
    return np.concatenate([evaluator.biased(damping, trend) for evaluator in evaluators])
