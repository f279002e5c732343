"""Shares of methods whose weighted mean has the least error on hidden values.

Shares are convex and found by Frank-Wolfe steps towards single methods. If few runs begin or end at different times,
as at the ends of series, they are too few to fit shares to: the best single method has all.

Estimates are corrected by the median residual of hidden values. Averaging methods are correct in the mean. For skewed
values, such as speeds between free flow and congestion, the least absolute error is at the median: that of the hidden
values with similar estimates. A bend is a piecewise linear function through KNOTS points (estimate, offset), learned on
hidden values. It is used if it lowers the error on folds left out of its fit.
"""

import numpy as np

from gpukit.imputation.auto.judging import KINDS, NEVER, error_of
from gpukit.imputation.constants import KNOTS, MOST_VALUES


def shares_of(estimates, truth, kinds, metric, units=np.inf, fewest_units=6):
    """Return shares (KINDS, members) whose rows add up to 1: those of whole vertices, and those of all other kinds.

    A group without values has the shares of all values. estimates (members, values), truth (values,), kinds (values,)
    int8; units: number of runs of all other kinds, at different times; fewest_units: to fit shares to; ablated.
    """
    shares, whole = np.empty((KINDS, len(estimates))), kinds == NEVER
    few = 0 < units < fewest_units
    for rows, group, alone in ((slice(NEVER, NEVER + 1), whole, False), (slice(NEVER + 1, None), ~whole, few)):
        values = group if group.any() else slice(None)
        shares[rows] = optimize_shares(estimates[:, values], truth[values], metric, alone)
    return shares


def optimize_shares(estimates, truth, metric, alone):
    """Return (members,) shares by at most 20 Frank-Wolfe steps from the best single method, or `alone` that one's."""
    sample = slice(None, None, max(1, len(truth) // MOST_VALUES))
    residuals = estimates[:, sample] - truth[sample]
    vertices = np.eye(len(estimates))
    best = min(vertices, key=lambda shares: error_of(shares @ residuals, metric))
    error = error_of(best @ residuals, metric)
    for _ in range(0 if alone else 20):
        steps = 0.5, 0.3, 0.2, 0.1, 0.05
        candidates = [(1 - step) * best + step * vertex for step in steps for vertex in vertices]
        errors = [error_of(shares @ residuals, metric) for shares in candidates]
        index = int(np.argmin(errors))
        if errors[index] >= error:
            break
        best, error = candidates[index], errors[index]
    return best


def weighted_mean(estimates, shares, kinds):
    """Return the mean of estimates, weighted by the shares (KINDS, members) of their kinds.

    estimates: one array of any shape per member; kinds have the same shape.
    """
    out = np.zeros(estimates[0].shape)
    for member, estimate in enumerate(estimates):
        out += shares[kinds, member] * estimate
    return out


def zero_bends():
    """Return (2, 2, KNOTS) float64: no correction of whole vertices and of other values."""
    return np.zeros((2, 2, KNOTS))


def apply_bends(bends, estimate, kinds):
    """Return corrected estimates of any shape; kinds have the same shape."""
    out = np.array(estimate)
    for group, mask in enumerate((kinds == NEVER, kinds != NEVER)):
        knots, offsets = bends[group]
        if offsets.any():
            out[mask] += np.interp(estimate[mask], knots, offsets)
    return out


def learn_bends(parts, metric, units=(KNOTS, KNOTS)):
    """Learn bends from [(estimates, truth, kinds)], one tuple per fold.

    units: number of independent units (judging.Fold.units) among whole vertices and among other values. With fewer
    than KNOTS, as for days missing on all vertices, no bend is learned, because it would fit those days only.
    """
    bends, values_per_knot = zero_bends(), 40
    for group in (0, 1):
        group_parts = [(e[chosen], t[chosen]) for e, t, k in parts for chosen in [(k == NEVER) == (group == 0)]]
        group_parts = [part for part in group_parts if len(part[0])]
        is_enough = units[group] >= KNOTS and sum(len(e) for e, _ in group_parts) >= 2 * KNOTS * values_per_knot
        if is_enough and len(group_parts) > 1 and lowers_error(group_parts, metric):
            bends[group] = fit_bend(group_parts, metric)
    return bends


def lowers_error(parts, metric):
    """Return True if a bend lowers the error on folds left out of its fit."""
    before, after = [], []
    for fold, (estimate, truth) in enumerate(parts):
        knots, offsets = fit_bend(parts[:fold] + parts[fold + 1 :], metric)
        before.append(estimate - truth)
        after.append(estimate + np.interp(estimate, knots, offsets) - truth)
    after, before = np.concatenate(after), np.concatenate(before)
    limit = 1.1 * error_of(before, "squared")  # among many zeros the median is 0, whatever the others are; test
    return error_of(after, "squared") <= limit and error_of(after, metric) < error_of(before, metric)


def fit_bend(parts, metric):
    """Return (2, KNOTS): increasing estimates, and the median or mean residual near each."""
    estimate, truth = (np.concatenate(part) for part in zip(*parts))
    order = np.argsort(estimate, kind="stable")
    middle = np.median if metric == "absolute" else np.mean
    pieces = np.array_split(order, KNOTS)
    knots = np.array([np.median(estimate[piece]) for piece in pieces])
    return np.array([knots, [middle((truth - estimate)[piece]) for piece in pieces]])
