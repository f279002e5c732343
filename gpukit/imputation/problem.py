"""What every method of filling in works on: series on the vertices of a graph; and what a method is."""

from typing import NamedTuple

import numpy as np

from gpukit._pool import by_rows
from gpukit.errors import DataError
from gpukit.imputation.centering import spread
from gpukit.imputation.periods import in_time, period_of, rising

FEWEST_WINDOW = 256
LARGEST = 1e15  # of a value: methods square them, and sum the squares, in float32


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


def too_large(values, seen):
    """Those of the values that are seen that are beyond LARGEST, or no numbers."""
    return values[seen & ~(np.abs(values) <= LARGEST)]


def as_problem(adjacency, data, place, options, times=None):
    """The Problem of inputs.Data; times (m n,) float64, rising, or None: whether the columns are in order is then told
    from values. DataError for a value beyond LARGEST."""
    values = data.tensor.reshape(len(data.tensor), -1).astype(np.float64)
    seen = np.array(np.broadcast_to(spread(data.mask), data.tensor.shape)).reshape(values.shape)
    beyond = [one for one in by_rows(lambda rows: too_large(values[rows], seen[rows]), values.shape) if len(one)]
    if beyond:
        raise DataError(
            f"A value is {beyond[0][0]:g}; what is observed may be {LARGEST:g} in size at most. Correct it, or "
            "give the values in other units."
        )
    at = None if times is None else rising(times)
    if times is None and in_time(values, seen, data.tensor.shape[1:]):
        at = np.arange(values.shape[1], dtype=np.float64)
    period = 0 if at is None else period_of(values, seen, data.tensor.shape[1:], None if times is None else at)
    return Problem(adjacency, values, seen, at, period, data.tensor.shape[1:], place, options)
