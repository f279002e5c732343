"""Shares of methods whose mean errs least on hidden values: convex, by Frank and Wolfe's steps towards one method.

What few hidden values tell is chance in part. So shares are drawn towards the mean of the methods that these values
cannot tell from the best: the more, the less sure it is that the shares are better than that (as James and Stein's
estimate is; Proc. 4th Berkeley Symposium, 1961). A method counts the less in that mean the more standard errors its
loss is above the least, by the density of a normal distribution.
"""

import numpy as np

from gpukit.imputation.auto.gap_kinds import KINDS, NEVER
from gpukit.imputation.auto.judging import error_of

STEPS = (0.5, 0.3, 0.2, 0.1, 0.05)
GAIN = 2e-3  # relative, of a step that is taken
ROUNDS = 20
MOST = 40_000  # values that shares are found on
ENOUGH = 200  # values of a kind that has shares of its own
LEAST = 0.5  # of the shares that are found, what is left of them


def shares_of(estimates, truth, kinds, metric):
    """(KINDS, members) shares, each row adding up to 1: of values of a kind where they are many, else of all alike.

    estimates (members, values), truth (values,), kinds (values,) int8.
    """
    shares = np.empty((KINDS, len(estimates)))
    for rows, group in groups(kinds):
        shares[rows] = mixed(estimates[:, group], truth[group], metric)
    for kind in range(NEVER + 1, KINDS):
        some = kinds == kind
        if np.count_nonzero(some) >= ENOUGH:
            shares[kind] = mixed(estimates[:, some], truth[some], metric, shares[kind])
    return shares


def groups(kinds):
    """Yield (rows of shares, which values (values,) decide them): of vertices that are hidden whole, and others; all
    where there are none of them."""
    whole = kinds == NEVER
    for rows, group in ((slice(NEVER, NEVER + 1), whole), (slice(NEVER + 1, None), ~whole)):
        yield rows, group if group.any() else np.ones(len(kinds), bool)


def drawn(shares, estimates, truth, kinds, units, metric):
    """Shares (KINDS, members) drawn towards the mean of the methods that may be the best (tied); units (values,):
    the number of a value's vertex and fold. Others as shares_of."""
    out, residuals = shares.copy(), estimates - truth
    found = combined(estimates, shares, kinds) - truth
    for rows, group in groups(kinds):
        even = tied(losses(residuals[:, group], units[group], metric))
        both = np.array([even @ residuals[:, group], found[group]])
        part = trust(*losses(both, units[group], metric))
        out[rows] = part * shares[rows] + (1.0 - part) * even
    return out


def losses(residuals, units, metric):
    """(members, units): the sum of what residuals (members, values) cost."""
    sizes = costs(residuals, metric)
    _, number = np.unique(units, return_inverse=True)
    return np.array([np.bincount(number, part) for part in sizes])


def costs(residuals, metric):
    """What residuals cost."""
    return np.abs(residuals) if metric == "absolute" else np.square(residuals)


def doubt(differences):
    """The standard error of sums of differences (..., units)."""
    count = differences.shape[-1]
    squares = np.square(differences - differences.mean(axis=-1, keepdims=True)).sum(axis=-1)
    return np.sqrt(squares * count / max(1, count - 1))


def tied(lost):
    """(members,) shares by how likely each is the best, of losses (members, units): even ones of those that are equal,
    exp(-1/2) times these of one that loses a standard error more than the least (Akaike's weights, for means)."""
    more = lost - lost[int(np.argmin(lost.sum(axis=1)))]
    excess, unsure = more.sum(axis=1), doubt(more)
    errors = np.divide(excess, unsure, out=np.where(excess > 0, np.inf, 0.0), where=unsure > 0)
    near = np.exp(-0.5 * np.square(errors))
    return near / near.sum()


def trust(even, found):
    """How much of the shares that were found is kept, of their losses (units,) and those of the even mean."""
    gain = even - found
    if len(gain) < 2 or gain.sum() <= 0:
        return LEAST
    return max(LEAST, 1.0 - float(doubt(gain) / gain.sum()) ** 2)


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
