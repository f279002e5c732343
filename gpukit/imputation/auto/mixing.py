"""Shares of methods whose weighted mean has the least error on hidden values.

Shares are convex and found by Frank-Wolfe steps towards single methods. With few hidden values the optimum is partly
chance, so shares are shrunk towards a mean of the methods that may be the best. The shrinkage is stronger if the gain
of the optimum is less certain (James and Stein, Proc. 4th Berkeley Symposium, 1961). In that mean, a method is
weighted by the density of a normal distribution at the number of standard errors between its loss and the least one.
"""

import numpy as np

from gpukit.imputation.auto.gap_kinds import KINDS, NEVER
from gpukit.imputation.auto.judging import error_of

STEPS = (0.5, 0.3, 0.2, 0.1, 0.05)
GAIN = 2e-3  # least relative gain of a step
ROUNDS = 20
MOST = 40_000  # values used to optimize shares
ENOUGH = 200  # values of a kind with its own shares
LEAST = 0.5  # least weight of the optimal shares


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


def shrink_shares(shares, estimates, truth, kinds, units, metric):
    """Shrink shares towards the mean of the methods that may be the best.

    units (values,): index of the independent unit of a value. Other arguments as in shares_of.
    """
    out, residuals = shares.copy(), estimates - truth
    mixture = weighted_mean(estimates, shares, kinds) - truth
    for rows, group in split_groups(kinds):
        prior = shares_by_likelihood(unit_losses(residuals[:, group], units[group], metric))
        both = np.array([prior @ residuals[:, group], mixture[group]])
        weight = weight_of_optimum(*unit_losses(both, units[group], metric))
        out[rows] = weight * shares[rows] + (1.0 - weight) * prior
    return out


def unit_losses(residuals, units, metric):
    """Return (members, units): the summed loss of residuals (members, values)."""
    losses = loss_of(residuals, metric)
    _, number = np.unique(units, return_inverse=True)
    return np.array([np.bincount(number, part) for part in losses])


def loss_of(residuals, metric):
    return np.abs(residuals) if metric == "absolute" else np.square(residuals)


def standard_error(differences):
    """Return the standard error of sums of differences (..., units)."""
    count = differences.shape[-1]
    squares = np.square(differences - differences.mean(axis=-1, keepdims=True)).sum(axis=-1)
    return np.sqrt(squares * count / max(1, count - 1))


def shares_by_likelihood(losses):
    """Return (members,) shares by the likelihood of being the best method.

    losses (members, units). Equal methods have equal shares; one standard error above the least loss multiplies a
    share by exp(-1/2) (as Akaike's weights do for means).
    """
    difference = losses - losses[int(np.argmin(losses.sum(axis=1)))]
    excess, uncertainty = difference.sum(axis=1), standard_error(difference)
    z = np.divide(excess, uncertainty, out=np.where(excess > 0, np.inf, 0.0), where=uncertainty > 0)
    weights = np.exp(-0.5 * np.square(z))
    return weights / weights.sum()


def weight_of_optimum(prior, optimum):
    """Return the weight of the optimal shares against the prior, from losses (units,)."""
    gain = prior - optimum
    if len(gain) < 2 or gain.sum() <= 0:
        return LEAST
    return max(LEAST, 1.0 - float(standard_error(gain) / gain.sum()) ** 2)


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
