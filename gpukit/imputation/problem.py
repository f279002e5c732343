"""Problem: series on the vertices of a graph, the input of every method; Method: the interface of methods.

Units: the standardization of vertices of different scales.

Levels that hide the spreads in float32, such as coordinates in metres that move by millimetres, are subtracted.

Vertices such as prices and sales are divided by their spread, their mean subtracted first. Otherwise the errors of
vertices with the largest scale would determine the selected method and all deviations. The spread is the standard
deviation, of series in time the root mean square of the changes between adjacent columns: relative to the standard
deviation, which contains the trend, errors of trending series would not count.
"""

import ctypes
import sys
from typing import Literal, NamedTuple, get_args

import numpy as np

from gpukit._pool import map_row_blocks
from gpukit.base import check_choice
from gpukit.errors import DataError
from gpukit.graphs.basis import GraphBasis
from gpukit.imputation.constants import FEWEST_VERTICES, MOST_VALUES
from gpukit.imputation.periods import in_time, period_of, rising_times

Center = Literal["none", "global", "entry"]
CENTERS = get_args(Center)


def spread(mask):
    """Return the mask as a view that broadcasts over (N, m, n): (N,) becomes (N, 1, 1)."""
    return mask.reshape(len(mask), 1, 1) if mask.ndim == 1 else mask


def mean_of(tensor, mask, how):
    """Return the mean to subtract, (m, n) float64.

    Missing values then shrink towards the mean instead of 0. Thresholding shrinks estimates to zero, and the smoothest
    signal of the normalized Laplacian is not constant: data far from zero, such as speeds, need centering.

    tensor (N, m, n); mask (N,) or (N, m, n) bool, True where observed; other values of the tensor are not read. how:
    'none' (zeros), 'global' (one mean of all observed values) or 'entry' (for each of the m n entries the mean over the
    vertices that observe it; the global mean if no vertex does). Raises ParameterError for another `how` and DataError
    when nothing is observed.
    """
    check_choice("center", how, CENTERS)
    shape = tensor.shape[1:]
    if how == "none":
        return np.zeros(shape)
    count, total = _sums(tensor, mask)
    if not count.any():
        raise DataError("no entry of the tensor is observed: a mean needs at least one value.")
    mean = np.full(shape, total.sum() / count.sum())
    return mean if how == "global" else np.divide(total, count, out=mean, where=count > 0)


def centre_tensor(tensor, mask, mean):
    """Return a new (N, m, n) of the tensor's type: observed values minus mean (m, n), 0 where missing."""
    out = tensor - mean.astype(tensor.dtype) if mean.any() else tensor.copy()
    np.copyto(out, 0, where=~spread(mask))
    return out


def _sums(tensor, mask):
    """Return (m, n) counts and (m, n) float64 sums of observed values."""
    if mask.ndim == 1:
        return np.full(tensor.shape[1:], mask.sum()), tensor[mask].sum(axis=0, dtype=np.float64)
    return mask.sum(axis=0), np.where(mask, tensor, 0).sum(axis=0, dtype=np.float64)


FEWEST_WINDOW = 256


class Problem(NamedTuple):
    """Series on a graph with missing values.

    adjacency  scipy.sparse csr (N, N), checked
    values     (N, T) float64, 0 where missing: the m n entries of a vertex's slice, row by row
    seen       (N, T) bool, True = observed
    at         (T,) float64, rising: time of each column; None if the columns have no order
    period     period in columns; 0: none
    shape      (m, n) of the slices
    place      spectral.run.Place: the graph's basis, the device, the computation's dtype
    options    estimator.Settings: the parameters, checked
    units      units.Units of the values; None: the user's units
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
        """Return True if columns are ordered in time."""
        return self.at is not None

    def without(self, hidden):
        """Return the problem with additional missing values, hidden (N, T) bool.

        If all unobserved vertices are isolated, as in a graph of similar series, newly unobserved ones become isolated
        too.
        """
        seen, dead = self.seen & ~hidden, ~self.seen.any(axis=1)
        result = self._replace(values=np.where(seen, self.values, 0.0), seen=seen)
        if not dead.any() or not lonely(self)[dead].all():
            return result
        from scipy import sparse

        alive = sparse.diags(seen.any(axis=1).astype(self.adjacency.dtype))
        return result._replace(adjacency=sparse.csr_matrix(alive @ self.adjacency @ alive))

    def window(self, numbers):
        """Return the problem of the first columns, about `numbers` numbers.

        Whole rows are kept if they fit.
        """
        count, columns = self.values.shape
        n, most = self.shape[1], max(FEWEST_WINDOW, numbers // count)
        if columns <= most:
            return self
        is_kept = slice(0, most // n * n if most >= n else most)
        times = None if self.at is None else self.at[is_kept]
        shape = (is_kept.stop // n, n) if most >= n else (1, most)
        return self._replace(values=self.values[:, is_kept], seen=self.seen[:, is_kept], at=times, shape=shape)

    def patches(self, numbers):
        """Return the problem of patches of a large graph, about `numbers` numbers, for methods without a Fourier basis.

        At least FEWEST_VERTICES are kept, and all of them where few values are observed.
        """
        whole = len(self.values)
        count = max(FEWEST_VERTICES, numbers // self.values.shape[1])
        if whole <= count or np.count_nonzero(self.seen) * count < MOST_VALUES * whole:
            return self
        rows = choose_patches(self.adjacency, count, np.random.default_rng(self.options.seed))
        units = None if self.units is None else Units(*(part[rows] for part in self.units))
        adjacency, values, seen = self.adjacency[rows][:, rows], self.values[rows], self.seen[rows]
        place = self.place._replace(basis=GraphBasis(adjacency, device=self.place.device))
        return self._replace(adjacency=adjacency, values=values, seen=seen, units=units, place=place)


def choose_patches(adjacency, count, rng):
    """Return `count` vertices of a graph, csr (N, N), in ascending order.

    Patches grow from random vertices, all by their neighbours at a time. If they fill their components, others begin,
    twice as many each time. The share of isolated vertices is that of the graph.
    """
    fewest, size = 16, 512  # patches at least, and vertices of one about; chosen
    order, is_joined = rng.permutation(adjacency.shape[0]), np.diff(adjacency.indptr) > 0
    joined, isolated = order[is_joined[order]], order[~is_joined[order]]
    alone = max(round(count * len(isolated) / len(order)), count - len(joined))
    is_chosen = np.zeros(len(order), bool)
    is_chosen[isolated[:alone]] = True
    missing, starts, front = count - alone, max(fewest, count // size), joined[:0]
    while missing:
        if not len(front):
            front, starts = joined[~is_chosen[joined]][:starts], 2 * starts
        if len(front) > missing:
            front = rng.permutation(front)[:missing]
        is_chosen[front] = True
        missing -= len(front)
        near = np.unique(adjacency[front].indices)
        front = near[~is_chosen[near]]
    return np.flatnonzero(is_chosen)


def lonely(problem):
    """Return (N,) bool: unobserved vertices without edges."""
    dead = ~problem.seen.any(axis=1)
    if dead.any():
        dead[dead] = np.asarray(problem.adjacency[dead].sum(axis=1)).ravel() == 0
    return dead


class Method(NamedTuple):
    """An imputation method.

    name      its name
    suits     suits(problem): True if it applies, at an acceptable cost
    settings  settings(problem): [dict], the settings to try, the default first
    fill      fill(problem, setting): (N, T) float64, a value wherever something is missing, NaN where it has none
    decide    decide(problem, progress): the setting, if it costs more than a trial may; or None
    ordered   needs columns in order of time
    unjoined  fills in unobserved vertices without edges
    host      does not use a GPU
    needs     what `suits` asks for, for a message
    """

    name: str
    suits: object
    settings: object
    fill: object
    decide: object = None
    ordered: bool = False
    host: bool = False
    unjoined: bool = False
    needs: str = ""


def always(problem):
    """Return True: suits every problem."""
    return True


def in_order(problem):
    """Return True for columns in order of time."""
    return problem.ordered


SEVERAL_IN_ORDER = "two or more series in order of time"


def several_in_order(problem):
    """Return True for series in time of two vertices at least."""
    return problem.ordered and len(problem.values) > 1


def one_setting(problem):
    """Return a single empty setting."""
    return [{}]


def check_values(values, seen):
    """Raise DataError for values that are too large or too small.

    Methods sum squares of values (N, T) in float32, and compare estimates.
    """
    most, least = 1e15, 1e-30  # absolute value of the largest one
    greatest = max(
        map_row_blocks(lambda rows: np.abs(values[rows][seen[rows]]).max(initial=0.0), values.shape), default=0.0
    )
    if least <= greatest <= most or greatest == 0:
        return
    limit = f"at least {least:g}, or all 0" if greatest < least else f"at most {most:g}"
    raise DataError(f"A value is {greatest:g}; the absolute value must be {limit}. Correct it, or use other units.")


def normalize_weights(adjacency):
    """Return an adjacency with weights scaled to a moderate range.

    The largest is from 1/2 to 1. The adjacency is unchanged if its weights and their ratios are moderate.
    """
    usual, weights = 40, adjacency.data  # powers of two between weights: solvers diverge at much larger ratios
    least, most = (int(np.frexp(value)[1]) for value in (weights.min(initial=np.inf), weights.max(initial=0.0)))
    if not len(weights) or (abs(most) <= usual and most - least <= usual):
        return adjacency
    scaled = adjacency.copy()
    scaled.data = np.maximum(np.ldexp(weights, -most), 2.0**-usual)
    return scaled


def as_problem(adjacency, data, place, options, times=None):
    """Return the Problem of inputs.Data.

    times (m n,) float64, rising, or None: the order of columns is then inferred from values. Raises DataError as
    check_values.
    """
    values = data.tensor.reshape(len(data.tensor), -1).astype(np.float64, copy=False)
    seen = data.mask.reshape(values.shape) if data.mask.ndim > 1 else np.repeat(data.mask[:, None], values.shape[1], 1)
    check_values(values, seen)
    positions = None if times is None else rising_times(times)
    if times is None and in_time(values, seen, data.tensor.shape[1:]):
        positions = np.arange(values.shape[1], dtype=np.float64)
    period = (
        0 if positions is None else period_of(values, seen, data.tensor.shape[1:], None if times is None else positions)
    )
    adjacency = None if adjacency is None else normalize_weights(adjacency)
    return Problem(adjacency, values, seen, positions, period, data.tensor.shape[1:], place, options)


class Units(NamedTuple):
    """level, size (N,) float64 of the vertices: methods work on (value - level) / size."""

    level: np.ndarray
    size: np.ndarray

    def off(self, values, seen):
        """Return values (N, T) in units, 0 where they are not observed."""
        out = values - self.level[:, None]
        out /= self.size[:, None]
        out[~seen] = 0.0
        return out

    def back(self, estimate, deviation, where):
        """Return estimate and deviation (values,) of the entries of a mask (N, T) in the user's units."""
        counts = np.count_nonzero(where, axis=1)
        level, size = np.repeat(self.level, counts), np.repeat(self.size, counts)
        return estimate * size + level, deviation * size

    @property
    def note(self):
        """Message for the user."""
        if self.is_level:
            return (
                "the sensors' values are far from 0 compared with their spreads. Methods work on the differences from "
                "a level of each sensor."
            )
        return (
            f"the spreads of sensors range from {self.size.min():.2g} to {self.size.max():.2g}, which suggests "
            "different units. Methods and errors are measured relative to each sensor's spread."
        )

    @property
    def is_level(self):
        """Return True if only levels are subtracted."""
        return bool((self.size == 1).all())


def units_for(problem):
    """Return the Units of a Problem of series; None for matrices without order.

    Units would change the ranks of the spectral slices of matrices. The sizes are those of units_of, or for series in
    time of their changes.
    """
    if not problem.ordered and min(problem.shape) > 1:
        return None
    units = units_of(problem.values, problem.seen)
    if units is None or units.is_level or not problem.ordered:
        return units
    both = problem.seen[:, 1:] & problem.seen[:, :-1]
    squares = np.square(np.diff(problem.values, axis=1)).sum(axis=1, where=both) / np.maximum(both.sum(axis=1), 1)
    return units._replace(size=np.where(squares > 0, np.sqrt(squares), units.size))


def units_of(values, seen):
    """Return the Units of series (N, T); None if spreads are similar and levels moderate.

    A vertex without observations has no spread to return its values in. With such vertices all have a common level. A
    constant vertex has the median of the others' spreads.
    """
    unlike = 2000.0  # ratio of spreads above which units differ; tables of one unit have up to 1,000
    far = 1e5  # level over spread above which float32 loses 1 % of the spread; test
    observed = seen.any(axis=1)
    if not observed.any():
        return None
    statistics = np.concatenate(map_row_blocks(lambda rows: moments(values[rows], seen[rows]), values.shape))
    level, size = statistics[observed].T
    spread_out = size > 0
    is_far = spread_out.any() and np.median(np.abs(level[spread_out]) / size[spread_out]) > far
    varying = size > (0.0 if is_far else np.finfo(np.float32).eps) * np.abs(level)
    if observed.all() and varying.any() and size[varying].max() > unlike * size[varying].min():
        return Units(level, np.where(varying, size, np.median(size[varying])))
    if not is_far:
        return None
    return Units(level if observed.all() else np.full(len(values), level.mean()), np.ones(len(values)))


def moments(values, seen):
    """Return (n, 2): means and standard deviations of observed values; 0 for values equal up to rounding, or none."""
    counts = np.maximum(seen.sum(axis=1), 1)
    level = values.sum(axis=1, where=seen) / counts
    size = np.sqrt(np.square(values - level[:, None]).sum(axis=1, where=seen) / counts)
    rounding = 8 * np.finfo(np.float64).eps * np.abs(level)  # of a mean of equal values
    return np.column_stack((level, np.where(size > rounding, size, 0.0)))


def return_freed_memory(table):
    """Return the process's freed memory to the system after steps on a large table.

    glibc keeps arrays of up to 32 MB for later ones, but a large table has no use for them.
    """
    least = 1 << 26  # bytes of a table
    if table.nbytes >= least and sys.platform == "linux" and hasattr(libc := ctypes.CDLL(None), "malloc_trim"):
        libc.malloc_trim(0)


def in_units(problem, units):
    """Return a Problem in Units; None: unchanged."""
    if units is None:
        return problem
    return problem._replace(values=units.off(problem.values, problem.seen), units=units)
