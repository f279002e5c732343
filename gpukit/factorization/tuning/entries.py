"""Results of settings: curves, means, spreads and the selection."""

from typing import NamedTuple

import numpy as np

from gpukit.factorization.tuning.grid import OPEN
from gpukit.model_selection.trial import Trial, simplest_of


class Entry(NamedTuple):
    """A grid.Setting and its choose.evaluator.Outcome on each fold so far."""

    setting: object
    outcomes: list

    @property
    def errors(self):
        """(folds, epochs) RMSE, up to the shortest curve."""
        length = min(len(outcome.curve) for outcome in self.outcomes)
        return np.array([[row["rmse"] for row in outcome.curve[:length]] for outcome in self.outcomes])

    @property
    def epochs(self):
        """Number of epochs with the lowest mean RMSE.

        None for OPEN, where the estimator chooses it.
        """
        return None if self.setting == OPEN else int(np.argmin(self.errors.mean(axis=0))) + 1

    @property
    def rmse(self):
        """Lowest mean RMSE over the folds."""
        return float(self.errors.mean(axis=0).min())

    @property
    def spread(self):
        """Standard deviation over the folds at that epoch.

        None for one fold, or if one diverged.
        """
        column = self.errors[:, (self.epochs or 1) - 1]
        return float(column.std(ddof=1)) if len(column) > 1 and np.isfinite(column).all() else None

    def row(self):
        """Return a dict for the table."""
        return {
            **self.setting._asdict(),
            "n_epochs": self.epochs,
            "rmse": self.rmse,
            "spread": self.spread,
            "folds": len(self.outcomes),
            "seconds": float(sum(outcome.curve[-1]["seconds"] for outcome in self.outcomes)),
            "curve": [float(error) for error in self.errors.mean(axis=0)],
        }

    def trial(self):
        """Return the model_selection Trial whose scores are RMSE by fold at that epoch, negated."""
        return Trial(self, -self.errors[:, (self.epochs or 1) - 1], {})


def ranked(entries):
    """Return the tried entries, by number of folds, then by RMSE."""
    tried = [entry for entry in entries if entry.outcomes]
    return sorted(tried, key=lambda entry: (-len(entry.outcomes), entry.rmse))


def simplest(entries, size):
    """Return the simplest Entry that the best is not better than, by more than a standard error over folds.

    Only entries on the largest number of folds are compared. size: sort key of a setting.
    """
    order = ranked(entries)
    compared = [entry for entry in order if len(entry.outcomes) == len(order[0].outcomes) and np.isfinite(entry.rmse)]
    compared.sort(key=lambda entry: size(entry.setting))
    return simplest_of([entry.trial() for entry in compared]).candidate
