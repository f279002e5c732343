"""What settings have come to: their curves, means and spreads, and which of them to take."""

from typing import NamedTuple

import numpy as np

from gpukit.factorization.tuning.grid import OPEN


class Entry(NamedTuple):
    """A grid.Setting and its fold.Curve on each fold that it has been tried on."""

    setting: object
    curves: list

    @property
    def errors(self):
        """(folds, epochs) RMSE, as far as all curves go."""
        length = min(len(curve.errors) for curve in self.curves)
        return np.array([curve.errors[:length] for curve in self.curves])

    @property
    def epochs(self):
        """The number of epochs with the least mean RMSE; None of what the estimator chooses."""
        return None if self.setting == OPEN else int(np.argmin(self.errors.mean(axis=0))) + 1

    @property
    def rmse(self):
        """The least mean RMSE over the folds."""
        return float(self.errors.mean(axis=0).min())

    @property
    def spread(self):
        """Standard deviation over the folds at that epoch; None of one fold, or where one diverged."""
        column = self.errors[:, (self.epochs or 1) - 1]
        return float(column.std(ddof=1)) if len(column) > 1 and np.isfinite(column).all() else None

    def row(self):
        """A dict for the table."""
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
    """Entries that have been tried: those on the most folds first, then by RMSE."""
    tried = [entry for entry in entries if entry.curves]
    return sorted(tried, key=lambda entry: (-len(entry.curves), entry.rmse))


def near_the_best(entries, margin, most):
    """The Entries whose RMSE comes within a share `margin` of the least, `most` of them at most, the best first."""
    order = ranked(entries)
    return [entry for entry in order if entry.rmse <= (1.0 + margin) * order[0].rmse][:most]


def simplest(entries, best, size):
    """The simplest of the Entries on as many folds as the best whose mean RMSE is within one standard error of its own
    [Breiman et al. 1984, sec. 3.4.3]; the best where the error is not known. size: what a setting is sorted by."""
    if best.spread is None:
        return best
    bound = best.rmse + best.spread / len(best.curves) ** 0.5
    near = [entry for entry in entries if len(entry.curves) == len(best.curves) and entry.rmse <= bound]
    return min(near, key=lambda entry: size(entry.setting))
