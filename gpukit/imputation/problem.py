"""What every method of filling in works on: series on the vertices of a graph; and what a method is."""

from typing import NamedTuple

import numpy as np

from gpukit._pool import by_rows
from gpukit.errors import DataError
from gpukit.imputation.centering import spread
from gpukit.imputation.periods import in_time, period_of, rising

FEWEST_WINDOW = 256
LARGEST = 1e15  # of a value: methods square them, and sum the squares, in float32
USUAL = 40  # powers of two, of weights: solvers diverge where ratios are much larger
LEAST = 1e-100  # of the largest value: smaller ones' squares and their products vanish in float64


class Problem(NamedTuple):
    """Series on a graph, some of them known.

    adjacency  scipy.sparse csr (N, N), checked
    values     (N, T) float64, 0 where missing: the m n entries of a vertex's slice, row after row
    seen       (N, T) bool, True = observed
    at         (T,) float64, rising: when each column was; None where the columns have no order
    period     columns after which things repeat; 0: none was found
    shape      (m, n) of the slices
    place      spectral.run.Place: the graph's basis, the device, the computation's dtype
    options    estimator.Settings: the parameters, checked
    units      units.Units that values are in, None: those in which they were given
    """

    adjacency: object
    values: np.ndarray
    seen: np.ndarray
    at: np.ndarray | None
    period: int
    shape: tuple
    place: object
    options: object
    units: object = None

    @property
    def ordered(self):
        """Whether neighbouring columns follow each other in time."""
        return self.at is not None

    def without(self, hidden):
        """The same problem with more of it missing; hidden (N, T) bool. Where vertices of which nothing is observed are
        joined to none, as in a graph of how alike series are, those that become such are too."""
        seen, dead = self.seen & ~hidden, ~self.seen.any(axis=1)
        found = self._replace(values=np.where(seen, self.values, 0.0), seen=seen)
        if not dead.any() or not lonely(self)[dead].all():
            return found
        from scipy import sparse

        alive = sparse.diags(seen.any(axis=1).astype(self.adjacency.dtype))
        return found._replace(adjacency=sparse.csr_matrix(alive @ self.adjacency @ alive))

    def window(self, numbers):
        """The first columns, whole rows of the slices if they fit: about so many numbers."""
        count, columns = self.values.shape
        n, most = self.shape[1], max(FEWEST_WINDOW, numbers // count)
        if columns <= most:
            return self
        kept = slice(0, most // n * n if most >= n else most)
        at = None if self.at is None else self.at[kept]
        shape = (kept.stop // n, n) if most >= n else (1, most)
        return self._replace(values=self.values[:, kept], seen=self.seen[:, kept], at=at, shape=shape)

    def columns(self, some):
        """The problem of some of the columns, in no order; slices are vectors then."""
        return self._replace(
            values=self.values[:, some], seen=self.seen[:, some], at=None, period=0, shape=(1, len(some))
        )


def lonely(problem):
    """(N,) bool: the vertices of which nothing is observed that are joined to none."""
    dead = ~problem.seen.any(axis=1)
    if dead.any():
        dead[dead] = np.asarray(problem.adjacency[dead].sum(axis=1)).ravel() == 0
    return dead


class Method(NamedTuple):
    """A way to fill in.

    name      what it is called
    suits     suits(problem): whether it has anything to say there, at a cost that can be borne
    settings  settings(problem): [dict], what is tried, the usual one first
    fill      fill(problem, setting): (N, T) float64, a value wherever something is missing, NaN where it knows none
    alone     whether every column is filled in by itself, on the host, so that some of the columns will do for a trial
    decide    decide(problem, progress): the setting that serves, where it costs more than a trial may; or None
    ordered   whether it cannot do without columns that follow each other in time
    long      whether it takes about as long as all others together, so that it had better work beside them
    unjoined  whether it knows something of vertices of which nothing is observed and that are joined to none
    host      whether it leaves a GPU alone, as those do that are asked for some columns
    """

    name: str
    suits: object
    settings: object
    fill: object
    alone: bool = False
    decide: object = None
    ordered: bool = False
    long: bool = False
    host: bool = False
    unjoined: bool = False

    @property
    def leaves_gpu(self):
        """Whether all that it does is the host's."""
        return self.alone or self.host


def always(problem):
    """Suits every problem."""
    return True


def in_order(problem):
    """Suits columns that follow each other in time."""
    return problem.ordered


def one_setting(problem):
    """No choice."""
    return [{}]


def check_values(values, seen):
    """DataError for a seen value beyond LARGEST, or for values (N, T) that are all closer to 0 than LEAST."""
    greatest = max(by_rows(lambda rows: np.abs(values[rows][seen[rows]]).max(initial=0.0), values.shape), default=0.0)
    if greatest <= LARGEST and (greatest >= LEAST or greatest == 0):
        return
    limit = f"{LARGEST:g} in size at most" if not greatest <= LARGEST else f"{LEAST:g} in size at least, or all 0"
    raise DataError(
        f"A value is {greatest:g}; what is observed may be {limit}. Correct it, or give the values in other units."
    )


def of_usual_size(adjacency):
    """Return an adjacency whose weights, the largest from 1/2 to 1, are 2^-USUAL at least, if their size or their
    ratios are beyond that; else the adjacency as it is."""
    weights = adjacency.data
    least, most = (int(np.frexp(one)[1]) for one in (weights.min(initial=np.inf), weights.max(initial=0.0)))
    if not len(weights) or (abs(most) <= USUAL and most - least <= USUAL):
        return adjacency
    scaled = adjacency.copy()
    scaled.data = np.maximum(np.ldexp(weights, -most), 2.0**-USUAL)
    return scaled


def as_problem(adjacency, data, place, options, times=None):
    """The Problem of inputs.Data; times (m n,) float64, rising, or None: whether the columns are in order is then told
    from values. DataError as check_values."""
    values = data.tensor.reshape(len(data.tensor), -1).astype(np.float64)
    seen = np.array(np.broadcast_to(spread(data.mask), data.tensor.shape)).reshape(values.shape)
    check_values(values, seen)
    at = None if times is None else rising(times)
    if times is None and in_time(values, seen, data.tensor.shape[1:]):
        at = np.arange(values.shape[1], dtype=np.float64)
    period = 0 if at is None else period_of(values, seen, data.tensor.shape[1:], None if times is None else at)
    adjacency = None if adjacency is None else of_usual_size(adjacency)
    return Problem(adjacency, values, seen, at, period, data.tensor.shape[1:], place, options)
