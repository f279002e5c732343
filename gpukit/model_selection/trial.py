"""Compare candidates by their scores on the same held-out users."""

from typing import NamedTuple

import numpy as np

CERTAIN = 1.0  # standard errors above which a difference counts


class Trial(NamedTuple):
    """A candidate and its results.

    Parameters
    ----------
    candidate : settings of any kind
    scores : (users,) float64, larger is better; the users are the same for all candidates of a comparison
    row : dict, what is reported of the trial
    """

    candidate: object
    scores: np.ndarray
    row: dict

    @property
    def mean(self):
        """Mean score over users."""
        return float(self.scores.mean())

    def gain(self, other):
        """Return the mean difference to another Trial and its standard error over users.

        The difference is taken user by user: users differ from each other by much more than candidates do.
        """
        change = self.scores - other.scores
        return float(change.mean()), float(change.std(ddof=min(1, len(change) - 1)) / len(change) ** 0.5)

    def is_better(self, other):
        """Return True if the gain over another Trial is larger than CERTAIN standard errors."""
        mean, error = self.gain(other)
        return mean > CERTAIN * error


def simplest_of(trials):
    """Return the first Trial that the best one is not better than.

    Parameters
    ----------
    trials : list of Trial, the simplest candidate first

    References
    ----------
    Breiman et al. 1984, section 3.4.3 (the one-standard-error rule).
    """
    best = max(trials, key=lambda trial: trial.mean)
    return next(trial for trial in trials if trial is best or not best.is_better(trial))
