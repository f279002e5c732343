"""Correction of estimates by the median residual of hidden values.

Averaging methods are correct in the mean. For skewed values, such as speeds between free flow and congestion, the
least absolute error is at the median: that of the hidden values with similar estimates. A bend is a piecewise linear
function through KNOTS points (estimate, offset), learned on hidden values. It is used if it lowers the error on folds
left out of its fit.
"""

import numpy as np

from gpukit.imputation.auto.gap_kinds import NEVER
from gpukit.imputation.auto.judging import error_of
from gpukit.imputation.constants import KNOTS, MOST_RISE, VALUES_PER_KNOT


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
    bends = zero_bends()
    for group in (0, 1):
        group_parts = [(e[chosen], t[chosen]) for e, t, k in parts for chosen in [(k == NEVER) == (group == 0)]]
        group_parts = [part for part in group_parts if len(part[0])]
        is_enough = units[group] >= KNOTS and sum(len(e) for e, _ in group_parts) >= 2 * KNOTS * VALUES_PER_KNOT
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
    if error_of(after, "squared") > MOST_RISE * error_of(before, "squared"):
        return False
    return error_of(after, metric) < error_of(before, metric)


def fit_bend(parts, metric):
    """Return (2, KNOTS): increasing estimates, and the median or mean residual near each."""
    estimate, truth = (np.concatenate(part) for part in zip(*parts))
    order = np.argsort(estimate, kind="stable")
    middle = np.median if metric == "absolute" else np.mean
    pieces = np.array_split(order, KNOTS)
    knots = np.array([np.median(estimate[piece]) for piece in pieces])
    return np.array([knots, [middle((truth - estimate)[piece]) for piece in pieces]])
