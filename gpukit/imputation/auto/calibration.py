"""What is filled in bent to the middle of the hidden values beside it.

Methods that average are right in the mean; where values are skewed, as speeds between free flow and a jam are, the
value with the least absolute error is another: the median of the hidden values whose estimates were alike. A bend is a
line through KNOTS points (estimate, what is to be added), learned on hidden values; it is kept where it lowers the
error on each fold's values when learned on the other folds', taken together.
"""

import numpy as np

from gpukit.imputation.auto.gap_kinds import NEVER
from gpukit.imputation.auto.judging import error_of

KNOTS = 16
ENOUGH = 40  # values a knot
WORTH = 0.995  # of the error without it
RISE = 1.1  # of the root mean square: among many zeros the middle is 0, which knows nothing of the others


def straight():
    """(2, 2, KNOTS) float64: no bend, of vertices that are hidden whole and of other values."""
    return np.zeros((2, 2, KNOTS))


def bent(bends, estimate, kinds):
    """Estimates, of any shape, bent; kinds: of the same shape."""
    out = np.array(estimate)
    for group, some in enumerate((kinds == NEVER, kinds != NEVER)):
        knots, added = bends[group]
        if added.any():
            out[some] += np.interp(estimate[some], knots, added)
    return out


def learned(parts, metric, units=(KNOTS, KNOTS)):
    """Bends of [(estimates, truth, kinds)], a fold each; units: how many chances, judging.Fold.units, vertices that are
    hidden whole and other values took: of fewer than KNOTS, as of days that all miss, a bend is those days' own."""
    bends = straight()
    for group in (0, 1):
        some = [(e[chosen], t[chosen]) for e, t, k in parts for chosen in [(k == NEVER) == (group == 0)]]
        some = [part for part in some if len(part[0])]
        many = units[group] >= KNOTS and sum(len(e) for e, _ in some) >= 2 * KNOTS * ENOUGH
        if many and len(some) > 1 and pays(some, metric):
            bends[group] = bend(some, metric)
    return bends


def pays(parts, metric):
    """Whether a bend lowers the error on values that it was not learned on."""
    before, after = [], []
    for at, (estimate, truth) in enumerate(parts):
        knots, added = bend(parts[:at] + parts[at + 1 :], metric)
        before.append(estimate - truth)
        after.append(estimate + np.interp(estimate, knots, added) - truth)
    after, before = np.concatenate(after), np.concatenate(before)
    if error_of(after, "squared") > RISE * error_of(before, "squared"):
        return False
    return error_of(after, metric) < WORTH * error_of(before, metric)


def bend(parts, metric):
    """(2, KNOTS): estimates, rising, and what is to be added there: the median residual, or the mean, of as many."""
    estimate, truth = (np.concatenate(part) for part in zip(*parts))
    order = np.argsort(estimate, kind="stable")
    middle = np.median if metric == "absolute" else np.mean
    pieces = np.array_split(order, KNOTS)
    knots = np.array([np.median(estimate[piece]) for piece in pieces])
    return np.array([knots, [middle((truth - estimate)[piece]) for piece in pieces]])
