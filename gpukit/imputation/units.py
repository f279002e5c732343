"""Vertices of unlike kinds, such as prices beside what was sold: each counted from its mean, in its own spread.

An error of one kind says nothing of another's. Told in one sum, as if they were one, those of the largest decide which
method serves all, and how sure each value is.
"""

from typing import NamedTuple

import numpy as np

from gpukit._pool import by_rows

UNLIKE = 2000.0  # times the least spread of a vertex, the largest: tables of one unit have up to 1,000


class Units(NamedTuple):
    """level, size (N,) float64 of the vertices: (value - level) / size is what methods work on."""

    level: np.ndarray
    size: np.ndarray

    def off(self, values, seen):
        """Values (N, T) in units, 0 where they are not seen."""
        return np.where(seen, (values - self.level[:, None]) / self.size[:, None], 0.0)

    def back(self, estimate, deviation):
        """The two (N, T) as they were given."""
        return estimate * self.size[:, None] + self.level[:, None], deviation * self.size[:, None]

    @property
    def note(self):
        """What to know of it."""
        return (
            f"sensors spread by {self.size.min():.2g} to {self.size.max():.2g}, as unlike kinds do: methods are judged "
            "in units of each sensor's own spread, and so are their errors."
        )


def units_for(problem):
    """The Units of a Problem of series; None of one of matrices without order, whose spectral slices' ranks they would
    change."""
    if not problem.ordered and min(problem.shape) > 1:
        return None
    return units_of(problem.values, problem.seen)


def units_of(values, seen):
    """The Units of series (N, T); None where the vertices are of one kind, as far as their spreads tell, or where one
    of them is not observed at all, of which there are no units to give it back in.

    A vertex that does not change has the median of the others' spreads.
    """
    if not seen.any(axis=1).all():
        return None
    found = np.concatenate(by_rows(lambda rows: moments(values[rows], seen[rows]), values.shape))
    level, size = found.T
    some = size > 0
    if not some.any() or size.max() <= UNLIKE * size[some].min():
        return None
    return Units(level, np.where(some, size, np.median(size[some])))


def moments(values, seen):
    """(n, 2): means and standard deviations of what is seen; of what is alike but for rounding 0."""
    level = values.mean(axis=1, where=seen)
    size = np.sqrt(np.square(values - level[:, None]).mean(axis=1, where=seen))
    return np.column_stack((level, np.where(size > np.finfo(np.float32).eps * np.abs(level), size, 0.0)))


def in_units(problem, units):
    """A Problem in Units; None: as it is."""
    if units is None:
        return problem
    return problem._replace(values=units.off(problem.values, problem.seen), units=units)
