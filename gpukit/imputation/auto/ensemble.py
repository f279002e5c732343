"""Shares of methods whose weighted mean has the least error on hidden values.

Shares are convex and found by Frank-Wolfe steps towards single methods.
"""

import numpy as np

from gpukit.imputation.auto.judging import KINDS, NEVER, error_of
from gpukit.imputation.constants import MOST_VALUES, SHARE_STEPS

MOST_STEPS = 20


def shares_of(estimates, truth, kinds, metric):
    """Return shares (KINDS, members) whose rows add up to 1: those of whole vertices, and those of all other kinds.

    A group without values has the shares of all values. estimates (members, values), truth (values,), kinds (values,)
    int8.
    """
    shares, whole = np.empty((KINDS, len(estimates))), kinds == NEVER
    for rows, group in ((slice(NEVER, NEVER + 1), whole), (slice(NEVER + 1, None), ~whole)):
        values = group if group.any() else slice(None)
        shares[rows] = optimize_shares(estimates[:, values], truth[values], metric)
    return shares


def optimize_shares(estimates, truth, metric):
    """Return (members,) shares by at most MOST_STEPS Frank-Wolfe steps, from the best single method."""
    sample = slice(None, None, max(1, len(truth) // MOST_VALUES))
    residuals = estimates[:, sample] - truth[sample]
    vertices = np.eye(len(estimates))
    best = min(vertices, key=lambda shares: error_of(shares @ residuals, metric))
    error = error_of(best @ residuals, metric)
    for _ in range(MOST_STEPS):
        tried = [(1 - step) * best + step * vertex for step in SHARE_STEPS for vertex in vertices]
        errors = [error_of(shares @ residuals, metric) for shares in tried]
        index = int(np.argmin(errors))
        if errors[index] >= error:
            break
        best, error = tried[index], errors[index]
    return best


def weighted_mean(estimates, shares, kinds):
    """Return the mean of estimates, weighted by the shares (KINDS, members) of their kinds.

    estimates: one array of any shape per member; kinds have the same shape.
    """
    out = np.zeros(estimates[0].shape)
    for member, estimate in enumerate(estimates):
        out += shares[kinds, member] * estimate
    return out
