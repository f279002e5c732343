"""Shares of methods whose weighted mean has the least error on hidden values.

Shares are convex and found by Frank-Wolfe steps towards single methods.
"""

import numpy as np

from gpukit.imputation.auto.gap_kinds import KINDS, NEVER
from gpukit.imputation.auto.judging import error_of

STEPS = (0.5, 0.3, 0.2, 0.1, 0.05)
GAIN = 2e-3  # least relative gain of a step
ROUNDS = 20
MOST = 40_000  # values used to optimize shares
ENOUGH = 200  # values of a kind with its own shares


def shares_of(estimates, truth, kinds, metric):
    """Return shares (KINDS, members) whose rows add up to 1.

    A kind with many values has its own shares; the others share those of their group. estimates (members, values),
    truth (values,), kinds (values,) int8.
    """
    shares = np.empty((KINDS, len(estimates)))
    for rows, group in split_groups(kinds):
        shares[rows] = optimize_shares(estimates[:, group], truth[group], metric)
    for kind in range(NEVER + 1, KINDS):
        of_kind = kinds == kind
        if np.count_nonzero(of_kind) >= ENOUGH:
            shares[kind] = optimize_shares(estimates[:, of_kind], truth[of_kind], metric, shares[kind])
    return shares


def split_groups(kinds):
    """Yield (rows of shares, mask of values): whole vertices, then other values.

    The mask covers all values if a group is empty.
    """
    whole = kinds == NEVER
    for rows, group in ((slice(NEVER, NEVER + 1), whole), (slice(NEVER + 1, None), ~whole)):
        yield rows, group if group.any() else np.ones(len(kinds), bool)


def optimize_shares(estimates, truth, metric, start=None):
    """Return (members,) shares by Frank-Wolfe steps."""
    sample = slice(None, None, max(1, len(truth) // MOST))
    residuals = estimates[:, sample] - truth[sample]
    vertices = np.eye(len(estimates))
    candidates = [*vertices] if start is None else [*vertices, start]
    best = min(candidates, key=lambda shares: error_of(shares @ residuals, metric))
    error = error_of(best @ residuals, metric)
    for _ in range(ROUNDS):
        steps = [(1 - step) * best + step * vertex for step in STEPS for vertex in vertices]
        errors = [error_of(shares @ residuals, metric) for shares in steps]
        index = int(np.argmin(errors))
        if errors[index] > (1.0 - GAIN) * error:
            break
        best, error = steps[index], errors[index]
    return best


def weighted_mean(estimates, shares, kinds):
    """Return the mean of estimates, weighted by the shares (KINDS, members) of their kinds.

    estimates: one array of any shape per member; kinds have the same shape.
    """
    out = np.zeros(estimates[0].shape)
    for member, estimate in enumerate(estimates):
        out += shares[kinds, member] * estimate
    return out
