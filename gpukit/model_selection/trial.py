"""Compare candidates by their scores on the same held-out units: users, or queries; limit the work of a choice.

A Budget counts multiplications. Seconds would make the choice depend on the machine and on what else runs there. A
multiplication takes 1 to 3 ns on a core, so LITTLE takes about a second.

Steps that searches share: early stopping of a candidate, and finalists near the best one.
"""

import time
from typing import NamedTuple

import numpy as np

TRAININGS = 10  # a choice costs at most what this number of trainings on its sample costs
LITTLE = 1e9  # work that is always allowed
CLEAR = 2.0  # standard errors of a difference that is not due to chance


class Trial(NamedTuple):
    """A candidate and its results.

    Parameters
    ----------
    candidate : settings of any kind
    scores : (units,) float64, larger is better; the units are the same for all candidates of a comparison
    row : dict, what is reported of the trial
    weights : (units,) float64, or 1 for all; a metric over pairs weighs each unit by its number of pairs
    """

    candidate: object
    scores: np.ndarray
    row: dict
    weights: np.ndarray | float = 1.0

    @property
    def shares(self):
        """Weights whose sum is 1, (units,)."""
        weights = self.weights * np.ones(len(self.scores))
        return weights / weights.sum()

    @property
    def mean(self):
        """Weighted mean of the scores."""
        return float((self.shares * self.scores).sum())

    def gain(self, other):
        """Return the mean difference to another Trial and its standard error.

        The difference is taken unit by unit: units differ from each other by much more than candidates do. A weighted
        mean is a ratio of sums, so its error is that of a ratio estimate (delta method).
        """
        change, shares = self.scores - other.scores, self.shares
        mean, count = float((shares * change).sum()), np.count_nonzero(shares)
        return mean, float((count / max(count - 1, 1) * np.square(shares * (change - mean)).sum()) ** 0.5)

    def is_better(self, other, certain=1.0):
        """Return True if the gain over another Trial is larger than `certain` standard errors."""
        mean, error = self.gain(other)
        return mean > certain * error

    def extend(self, other):
        """Return the Trial with the units of another one of the same candidate."""
        scores, weights = (np.append(getattr(self, name), getattr(other, name)) for name in ("scores", "weights"))
        return self._replace(scores=scores, weights=weights)


def best_of(trials):
    """Return the first Trial with the largest mean."""
    return max(trials, key=lambda trial: trial.mean)


def list_finalists(trials):
    """Return the first of some Trials, which is the simplest, and the best; one Trial if that is the first."""
    best = best_of(trials)
    return trials[:1] if best is trials[0] else [trials[0], best]


def has_passed_best(trials):
    """Return True if the last two Trials are both worse than the best: for candidates along an axis."""
    return len(trials) > 2 and all(best_of(trials).is_better(trial) for trial in trials[-2:])


def simplest_of(trials):
    """Return the first Trial that the best one is not better than.

    Parameters
    ----------
    trials : list of Trial, the simplest candidate first

    References
    ----------
    Breiman et al. 1984, section 3.4.3 (the one-standard-error rule).
    """
    best = best_of(trials)
    return next(trial for trial in trials if trial is best or not best.is_better(trial))


class Budget:
    """Units of work: `limit` in all, `left` of them."""

    def __init__(self, limit):
        self.limit, self.used = limit, 0

    @classmethod
    def of_trainings(cls, units):
        """Return the Budget of a choice. units: work of one training on its sample."""
        return cls(max(LITTLE, TRAININGS * units))

    @property
    def left(self):
        """Units that are left."""
        return self.limit - self.used

    @property
    def is_spent(self):
        """Return True if no further candidate is to be tried."""
        return self.left <= 0

    def spend(self, units):
        """Subtract units of work."""
        self.used += units


class TimeBudget(Budget):
    """Seconds from now on, for a user who sets them."""

    def __init__(self, limit):
        self.limit, self.start = limit, time.monotonic()

    @property
    def used(self):
        """Seconds since the start."""
        return time.monotonic() - self.start


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
    result : of the best step
    """

    def __init__(self, patience, least_steps=0, goal=-np.inf, leader=None, margin=0.0, budget=None):
        self.patience, self.least_steps, self.goal, self.errors = patience, least_steps, goal, []
        self.leader, self.margin, self.budget = leader, margin, budget

    @property
    def best(self):
        """Number of the step with the least error, counted from 0."""
        return int(np.argmin(self.errors)) if self.patience else len(self.errors) - 1

    def is_over(self, error, result=None):
        """Record the error and the result of a step; return True if it is the last one."""
        self.errors.append(error)
        if self.best == len(self.errors) - 1:
            self.result = result
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
