"""Steps that searches share: finalists near the best candidate, and the end of a search that no longer improves."""

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
    """End of a search by steps whose errors do not improve.

    Parameters
    ----------
    patience : int, steps without a new least error that end the search
    least_steps : int, steps before `patience` counts
    goal : float, an error that ends the search at once

    Attributes
    ----------
    errors : list of float, one per step
    """

    def __init__(self, patience, least_steps=0, goal=-np.inf):
        self.patience, self.least_steps, self.goal, self.errors = patience, least_steps, goal, []

    def is_over(self, error):
        """Record the error of a step; return True if the search ends here."""
        self.errors.append(error)
        done = len(self.errors)
        idle_steps = done - 1 - int(np.argmin(self.errors))
        return error <= self.goal or (done > self.least_steps and idle_steps >= self.patience)
