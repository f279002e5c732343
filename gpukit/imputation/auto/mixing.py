"""Shares of methods whose mean errs least on hidden values: convex, by Frank and Wolfe's steps towards one method."""

import numpy as np

from gpukit.imputation.auto.judging import error_of
from gpukit.imputation.auto.places import KINDS, NEVER

STEPS = (0.5, 0.3, 0.2, 0.1, 0.05)
GAIN = 2e-3  # relative, of a step that is taken
ROUNDS = 20
MOST = 40_000  # values that shares are found on
ENOUGH = 200  # values of a kind that has shares of its own


def shares_of(estimates, truth, kinds, metric):
    """(KINDS, members) shares, each row adding up to 1: of values of a kind where they are many, else of all alike.

    estimates (members, values), truth (values,), kinds (values,) int8.
    """
    shares = np.empty((KINDS, len(estimates)))
    whole = kinds == NEVER
    for group in (whole, ~whole):
        if not group.any():
            group = np.ones(len(kinds), bool)
        shares[kinds_in(whole, group)] = mixed(estimates[:, group], truth[group], metric)
    for kind in range(NEVER + 1, KINDS):
        some = kinds == kind
        if np.count_nonzero(some) >= ENOUGH:
            shares[kind] = mixed(estimates[:, some], truth[some], metric, shares[kind])
    return shares


def kinds_in(whole, group):
    """The rows of shares that a group of values decides."""
    if group.all():
        return slice(None)
    return slice(NEVER, NEVER + 1) if whole[group].all() else slice(NEVER + 1, None)


def mixed(estimates, truth, metric, start=None):
    """(members,) shares."""
    some = slice(None, None, max(1, len(truth) // MOST))
    residuals = estimates[:, some] - truth[some]
    vertices = np.eye(len(estimates))
    candidates = [*vertices] if start is None else [*vertices, start]
    best = min(candidates, key=lambda shares: error_of(shares @ residuals, metric))
    error = error_of(best @ residuals, metric)
    for _ in range(ROUNDS):
        tried = [(1 - step) * best + step * vertex for step in STEPS for vertex in vertices]
        errors = [error_of(shares @ residuals, metric) for shares in tried]
        least = int(np.argmin(errors))
        if errors[least] > (1.0 - GAIN) * error:
            break
        best, error = tried[least], errors[least]
    return best


def combined(estimates, shares, kinds):
    """(N, T) or (values,): the mean of estimates, an array each, with the shares (KINDS, members) of their kinds."""
    out = np.zeros(estimates[0].shape)
    for member, estimate in enumerate(estimates):
        out += shares[kinds, member] * estimate
    return out
