"""Steps that searches share: early stopping of a candidate, and finalists near the best one."""

import numpy as np


def finalists(errors, ratio, limit):
    """Return the indices of the candidates near the best one, the best first.

    Parameters
    ----------
    errors : (candidates,) float, smaller is better
    ratio : float, largest error of a finalist, relative to the least error
    limit : int, largest number of finalists
    """
    errors = np.asarray(errors)
    order = np.argsort(errors, kind="stable")[:limit]
    return order[errors[order] <= ratio * errors[order[0]]]


class EarlyStopping:
    """End of a training, or of a search by steps, whose errors do not improve.

    Parameters
    ----------
    patience : int, steps without a new least error that end it; 0: nothing ends it, and the last step is the best
    least_steps : int, steps before `patience` counts
    goal : float, an error that ends it at once
    leader : list of float, errors by step of the best candidate so far, or None; a candidate that is behind it ends
    margin : float, distance from the leader's least error, relative to it, that is close enough
    budget : Budget or None; ends it when spent

    Attributes
    ----------
    errors : list of float, one per step
    """

    def __init__(self, patience, least_steps=0, goal=-np.inf, leader=None, margin=0.0, budget=None):
        self.patience, self.least_steps, self.goal, self.errors = patience, least_steps, goal, []
        self.leader, self.margin, self.budget = leader, margin, budget

    @property
    def best(self):
        """Number of the step with the least error, counted from 0."""
        return int(np.argmin(self.errors)) if self.patience else len(self.errors) - 1

    def is_over(self, error):
        """Record the error of a step; return True if it is the last one."""
        self.errors.append(error)
        if not self.patience:
            return False
        done = len(self.errors)
        is_idle = done > self.least_steps and done - 1 - self.best >= self.patience
        is_spent = self.budget is not None and self.budget.is_spent
        lags = self.leader is not None and is_behind(self.errors, self.leader, self.margin)
        return error <= self.goal or is_idle or is_spent or lags


def is_behind(errors, leader, margin):
    """Return True if a curve of errors by step is unlikely to come close to the leader's.

    It is above the leader's curve at the same step, and its limit above the leader's least error by a relative margin.
    """
    ahead = leader[min(len(errors), len(leader)) - 1]
    return errors[-1] > ahead and extrapolate(errors) > min(leader) * (1.0 + margin)


def extrapolate(errors):
    """Return the limit of a falling curve of errors by step; -inf for fewer than three steps.

    The falls are assumed to shrink at their last ratio, which tends to be optimistic.
    """
    slowest = 0.95  # upper limit of the ratio of successive falls
    if len(errors) < 3:
        return -np.inf
    before, last = errors[-3] - errors[-2], errors[-2] - errors[-1]
    if min(before, last) <= 0:
        return errors[-1]
    ratio = min(last / before, slowest)
    return errors[-1] - last * ratio / (1.0 - ratio)


def round_digits(value):
    """Return a number with two significant digits."""
    return float(f"{value:.2g}")
