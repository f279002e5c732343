"""What every method of filling in works on: series on the vertices of a graph; and what a method is."""

from typing import NamedTuple

import numpy as np

from gpukit.imputation.centering import spread

ALIKE = 0.9  # neighbouring columns are in order where they differ by less than this share of what any two differ by
FEWEST_COLUMNS = 8
FEWEST_WINDOW = 256
PEAK = 0.1  # of the variance: what the autocorrelation at a period has more than at half of it
NEARLY = 0.7  # of the highest peak
PAIRS = 1 << 18  # of numbers, that the order is told from


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
    """

    adjacency: object
    values: np.ndarray
    seen: np.ndarray
    at: np.ndarray | None
    period: int
    shape: tuple
    place: object
    options: object

    @property
    def ordered(self):
        """Whether neighbouring columns follow each other in time."""
        return self.at is not None

    def without(self, hidden):
        """The same problem with more of it missing; hidden (N, T) bool."""
        seen = self.seen & ~hidden
        return self._replace(values=np.where(seen, self.values, 0.0), seen=seen)

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


class Method(NamedTuple):
    """A way to fill in.

    name      what it is called
    suits     suits(problem): whether it has anything to say there, at a cost that can be borne
    settings  settings(problem): [dict], what is tried, the usual one first
    fill      fill(problem, setting): (N, T) float64, a value wherever something is missing, NaN where it knows none
    alone     whether every column is filled in by itself, so that some of the columns will do for a trial
    decide    decide(problem, progress): the setting that serves, where it costs more than a trial may; or None
    ordered   whether it cannot do without columns that follow each other in time
    """

    name: str
    suits: object
    settings: object
    fill: object
    alone: bool = False
    decide: object = None
    ordered: bool = False


def always(problem):
    """Suits every problem."""
    return True


def in_order(problem):
    """Suits columns that follow each other in time."""
    return problem.ordered


def one_setting(problem):
    """No choice."""
    return [{}]


def as_problem(adjacency, data, place, options, times=None):
    """The Problem of inputs.Data; times (m n,), or None: whether the columns are in order is then told from values."""
    values = data.tensor.reshape(len(data.tensor), -1).astype(np.float64)
    seen = np.broadcast_to(spread(data.mask), data.tensor.shape).reshape(values.shape)
    at = None if times is None else rising(times)
    if times is None and in_time(values, seen):
        at = np.arange(values.shape[1], dtype=np.float64)
    period = 0 if at is None else period_of(values, seen, data.tensor.shape[1:])
    return Problem(adjacency, values, seen, at, period, data.tensor.shape[1:], place, options)


def period_of(values, seen, shape):
    """Columns after which series (N, T) repeat, 0 for none: of slices with several rows a row; else the first lag of
    which the autocorrelation over all vertices stands out from that of half the lag, nearly as far as any does."""
    m, n = shape
    if min(m, n) > 1:
        return n
    rest = np.where(seen, values - row_means(values, seen), 0.0)
    count = values.shape[1]
    size = 1 << (2 * count - 1).bit_length()
    power, there = (correlation(part, size)[: count // 2] for part in (rest, seen.astype(np.float64)))
    curve = np.where(there > 0.5, power / np.maximum(there, 1.0), 0.0)
    if len(curve) < 6 or curve[0] <= 0:
        return 0
    inner = np.arange(4, len(curve) - 1)
    peaks = inner[(curve[inner] > curve[inner - 1]) & (curve[inner] >= curve[inner + 1])]
    height = curve[peaks] - curve[peaks // 2]
    peaks, height = peaks[height > PEAK * curve[0]], height[height > PEAK * curve[0]]
    return int(peaks[height >= NEARLY * height.max()][0]) if len(peaks) else 0


def correlation(series, size):
    """(size,): the autocorrelation by lag of series (N, T), summed over them."""
    return np.fft.irfft((np.abs(np.fft.rfft(series, size, axis=1)) ** 2).sum(axis=0), size)


def row_means(values, seen):
    """(N, 1) means of what is seen of each vertex."""
    return values.sum(axis=1, keepdims=True) / np.maximum(seen.sum(axis=1, keepdims=True), 1)


def rising(times):
    """(T,) float64 of times if they rise from column to column, else None."""
    times = np.asarray(times).ravel()
    times = (times - times[0]).astype(np.float64)
    return times if len(times) > 1 and (np.diff(times) > 0).all() else None


def in_time(values, seen):
    """Whether neighbouring columns (N, T) are more alike than any two columns of a vertex."""
    count = values.shape[1]
    if count < FEWEST_COLUMNS:
        return False
    rows = np.linspace(0, len(values) - 1, min(len(values), max(1, PAIRS // count))).astype(int)
    values, seen = values[np.unique(rows)], seen[np.unique(rows)]
    near = difference(values, seen, 1)
    far = [difference(values, seen, count // part) for part in (2, 3, 5)]
    far = [one for one in far if np.isfinite(one)]
    return bool(far) and near < ALIKE * float(np.mean(far))


def difference(values, seen, lag):
    """The mean absolute difference of values that many columns apart; NaN where no two are."""
    both = seen[:, lag:] & seen[:, :-lag]
    return float(np.abs(values[:, lag:] - values[:, :-lag])[both].mean()) if both.any() else np.nan
