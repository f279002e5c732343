"""Results of settings: curves, means, spreads and the selection."""

from typing import NamedTuple

import numpy as np

from gpukit.factorization.tuning.grid import OPEN


class Entry(NamedTuple):
    """A grid.Setting and its fold.Curve on each fold so far."""

    setting: object
    curves: list

    @property
    def errors(self):
        """(folds, epochs) RMSE, up to the shortest curve."""
        length = min(len(curve.errors) for curve in self.curves)
        return np.array([curve.errors[:length] for curve in self.curves])

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
            "folds": len(self.curves),
            "seconds": float(sum(curve.seconds for curve in self.curves)),
            "curve": [float(error) for error in self.errors.mean(axis=0)],
        }


def ranked(entries):
    """Return the tried entries, by number of folds, then by RMSE."""
    tried = [entry for entry in entries if entry.curves]
    return sorted(tried, key=lambda entry: (-len(entry.curves), entry.rmse))


def near_the_best(entries, margin, most):
    """Return at most `most` Entries with RMSE near the lowest, best first.

    margin: relative distance from the lowest.
    """
    order = ranked(entries)
    return [entry for entry in order if entry.rmse <= (1.0 + margin) * order[0].rmse][:most]


def simplest(entries, best, size):
    """Return the simplest Entry within one standard error of the best.

    Only Entries on the same number of folds count [Breiman et al. 1984, sec. 3.4.3]. The best is returned if its error
    is unknown. size: sort key of a setting.
    """
    if best.spread is None:
        return best
    bound = best.rmse + best.spread / len(best.curves) ** 0.5
    near = [entry for entry in entries if len(entry.curves) == len(best.curves) and entry.rmse <= bound]
    return min(near, key=lambda entry: size(entry.setting))
