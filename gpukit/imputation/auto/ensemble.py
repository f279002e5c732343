"""Shares of methods whose weighted mean has the least error on hidden values.

Shares are convex. They begin as the probabilities that a method is the best, by resampling the hidden values, and are
improved by Frank-Wolfe steps towards single methods. If few runs begin or end at different times, as at the ends of
series, they are too few to fit shares to: the best single method has all.

Estimates are corrected by the median residual of hidden values. Averaging methods are correct in the mean. For skewed
values, such as speeds between free flow and congestion, the least absolute error is at the median: that of the hidden
values with similar estimates. A bend is a piecewise linear function through KNOTS points (estimate, offset), learned on
hidden values. It is used if it lowers the error on folds left out of its fit.
"""

import numpy as np

from gpukit.imputation.auto.judging import KINDS, NEVER, error_of
from gpukit.imputation.constants import KNOTS, MOST_VALUES
from gpukit.model_selection.trial import Trial, best_of


def shares_of(estimates, truth, kinds, metric, units=np.inf):
    """Return shares (KINDS, members) whose rows add up to 1: those of whole vertices, and those of all other kinds.

    A group without values has the shares of all values. estimates (members, values), truth (values,), kinds (values,)
    int8; units: number of runs of all other kinds, at different times.
    """
    shares, whole = np.empty((KINDS, len(estimates))), kinds == NEVER
    fewest_units = 6  # to fit shares to; ablated
    few = 0 < units < fewest_units
    for rows, group, alone in ((slice(NEVER, NEVER + 1), whole, False), (slice(NEVER + 1, None), ~whole, few)):
        values = group if group.any() else slice(None)
        shares[rows] = optimize_shares(estimates[:, values], truth[values], metric, alone)
    return shares


def optimize_shares(estimates, truth, metric, alone):
    """Return (members,) shares: the part of resampled values on which each method is the best, then Frank-Wolfe steps.

    A step must lower the error by more than its standard error. `alone`: the best single method has all.
    """
    most_steps, lengths = 20, (0.5, 0.3, 0.2, 0.1, 0.05)
    sample = slice(None, None, max(1, len(truth) // MOST_VALUES))
    residuals, methods = estimates[:, sample] - truth[sample], np.eye(len(estimates))
    sizes = np.abs if metric == "absolute" else np.square

    def trial_of(shares):
        return Trial(shares, -sizes(shares @ residuals), {})

    if alone:
        return best_of(map(trial_of, methods)).candidate
    best = trial_of(share_of_wins(sizes(residuals[:, np.lexsort(residuals)])))  # whatever the order of the values
    for _ in range(most_steps):
        step = best_of(trial_of((1 - length) * best.candidate + length * one) for length in lengths for one in methods)
        if not step.is_better(best):
            break
        best = step
    return best.candidate


def share_of_wins(sizes):
    """Return (members,): the share of bootstrap samples on which each method has the least error; sizes: of its errors.

    Methods that few hidden values cannot tell apart are mixed. Source: Efron, Ann. Stat. 7 (1979).
    """
    samples, count = 50, sizes.shape[1]
    draws = np.random.default_rng(0).multinomial(count, np.full(count, 1.0 / count), samples)
    return np.bincount(np.argmin(sizes @ draws.T, axis=0), minlength=len(sizes)) / samples


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
