"""Standardization of vertices of different scales.

Vertices such as prices and sales are divided by their spread, their mean subtracted first. Otherwise the errors of
vertices with the largest scale would determine the selected method and all deviations. The spread is the standard
deviation, of series in time the root mean square of the changes between adjacent columns: relative to the standard
deviation, which contains the trend, errors of trending series would not count.
"""

from typing import NamedTuple

import numpy as np

from gpukit._pool import by_rows
from gpukit.imputation.constants import UNLIKE_SPREADS


class Units(NamedTuple):
    """level, size (N,) float64 of the vertices: methods work on (value - level) / size."""

    level: np.ndarray
    size: np.ndarray

    def off(self, values, seen):
        """Return values (N, T) in units, 0 where they are not observed."""
        return np.where(seen, (values - self.level[:, None]) / self.size[:, None], 0.0)

    def back(self, estimate, deviation):
        """Return estimate and deviation (N, T) in the user's units."""
        return estimate * self.size[:, None] + self.level[:, None], deviation * self.size[:, None]

    @property
    def note(self):
        """Message for the user."""
        return (
            f"the spreads of sensors range from {self.size.min():.2g} to {self.size.max():.2g}, which suggests "
            "different units. Methods and errors are measured relative to each sensor's spread."
        )


def units_for(problem):
    """Return the Units of a Problem of series; None for matrices without order.

    Units would change the ranks of the spectral slices of matrices. The sizes are those of units_of, or for series in
    time of their changes.
    """
    if not problem.ordered and min(problem.shape) > 1:
        return None
    units = units_of(problem.values, problem.seen)
    if units is None or not problem.ordered:
        return units
    both = problem.seen[:, 1:] & problem.seen[:, :-1]
    squares = np.square(np.diff(problem.values, axis=1)).sum(axis=1, where=both) / np.maximum(both.sum(axis=1), 1)
    return units._replace(size=np.where(squares > 0, np.sqrt(squares), units.size))


def units_of(values, seen):
    """Return the Units of series (N, T); None if spreads are similar or a vertex has no observations.

    A vertex without observations has no units to return its values in. A constant vertex has the median of the others'
    spreads.
    """
    if not seen.any(axis=1).all():
        return None
    statistics = np.concatenate(by_rows(lambda rows: moments(values[rows], seen[rows]), values.shape))
    level, size = statistics.T
    varying = size > 0
    if not varying.any() or size.max() <= UNLIKE_SPREADS * size[varying].min():
        return None
    return Units(level, np.where(varying, size, np.median(size[varying])))


def moments(values, seen):
    """Return (n, 2): means and standard deviations of observed values; 0 for values equal up to rounding."""
    level = values.mean(axis=1, where=seen)
    size = np.sqrt(np.square(values - level[:, None]).mean(axis=1, where=seen))
    return np.column_stack((level, np.where(size > np.finfo(np.float32).eps * np.abs(level), size, 0.0)))


def in_units(problem, units):
    """Return a Problem in Units; None: unchanged."""
    if units is None:
        return problem
    return problem._replace(values=units.off(problem.values, problem.seen), units=units)
