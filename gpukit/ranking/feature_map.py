"""Feature maps: the scaled features followed by nonlinear functions of them, computed by blocks of documents.

    thresholds   steps: 0 up to a value of a feature, above it the inverse of the step's deviation within queries, as
                 for features of deviation 1. Steps that are constant within every query are dropped
    fourier      cos(x'W + b), random Fourier features of a Gaussian kernel, which contain interactions. W is normal
                 divided by the deviation of the feature within queries and by the bandwidth

Source: Rahimi and Recht, "Random features for large-scale kernel machines", NIPS 2007.
"""

import copy
import functools
from typing import NamedTuple

import numpy as np

from gpukit._pool import parallel_map, single_threaded_blas
from gpukit.errors import DataError
from gpukit.io import trust
from gpukit.ranking.blocks import make_runs, query_blocks
from gpukit.ranking.scaling import UNSCALED, dense_spread, inverse
from gpukit.streams import Numpy

WAVES = 1000  # random Fourier features
LEAST = 20  # documents of the training set on each side of a threshold and between two of them
SAMPLED = 1 << 17  # documents whose distances give the bandwidth; their median is within .5 % of all distances'
BLOCK = 1 << 18  # numbers of a block of expanded features: 2 MiB
KEPT = 1 << 25  # numbers up to which expanded blocks are stored: 256 MiB


class Thresholds(NamedTuple):
    """Columns (k,) int64 of the features that are compared with values (k,) float64; heights (k,) of the steps."""

    columns: np.ndarray
    values: np.ndarray
    heights: np.ndarray

    kind = "thresholds"

    @property
    def extra(self):
        """The number of features in addition to the scaled ones."""
        return len(self.values)

    @property
    def largest(self):
        """The largest magnitude of each additional feature, (extra,)."""
        return self.heights

    def fill(self, X, out, library=np):
        """Set out (l, extra) for X (l, n)."""
        out[:] = (X[:, self.columns] > self.values) * self.heights

    def moved(self, put, dtype):
        """Return the map with its arrays on a device."""
        return Thresholds(*map(put, self))

    def attribute(self, extra, parts):
        """Add the parts (l, extra) of scores to the columns of parts (l, n + 1), one per feature and the rest."""
        np.add.at(parts.T, self.columns, extra.T)

    def check(self, n):
        """Raise DataError if the arrays do not fit n features."""
        trust.check_array("map_columns", self.columns, np.int64, self.columns.shape[:1])
        for name in ("values", "heights"):
            trust.check_array(f"map_{name}", getattr(self, name), np.float64, self.columns.shape)
            trust.check_finite(f"map_{name}", getattr(self, name))
        if len(self.columns) and not 0 <= self.columns.min() <= self.columns.max() < n:
            raise DataError(f"its map_columns are not all from 0 to {n - 1:,}.")


class Fourier(NamedTuple):
    """W: directions (n, k) float64; b: phases (k,) float64."""

    directions: np.ndarray
    phases: np.ndarray

    kind = "fourier"

    @property
    def extra(self):
        """The number of features in addition to the scaled ones."""
        return len(self.phases)

    @property
    def largest(self):
        """The largest magnitude of each additional feature, (extra,)."""
        return np.ones(self.extra)

    def fill(self, X, out, library=np):
        """Set out (l, extra) for X (l, n); library: numpy, or cupy for its arrays."""
        angles = X @ self.directions
        angles += self.phases
        library.cos(angles, out=out)

    def moved(self, put, dtype):
        """Return the map with its arrays on a device, in the type in which it is computed there."""
        return Fourier(*(put(array.astype(dtype)) for array in self))

    def attribute(self, extra, parts):
        """Add the parts (l, extra) of scores to the last column of parts (l, n + 1): waves mix all features."""
        parts[:, -1] += extra.sum(axis=1)

    def check(self, n):
        """Raise DataError if the arrays do not fit n features."""
        trust.check_array("map_phases", self.phases, np.float64, self.phases.shape[:1])
        trust.check_array("map_directions", self.directions, np.float64, (n, len(self.phases)))
        for name in ("directions", "phases"):
            trust.check_finite(f"map_{name}", getattr(self, name))


KINDS = {"thresholds": Thresholds, "fourier": Fourier}


def fit(kind, X, offsets, scaling=UNSCALED):
    """Return the map of a kind for X (l, n) of queries offsets (m + 1,); None if kind is 'linear'.

    scaling: the Scaling that X will have; only for Fourier, others take X scaled.
    """
    if kind == "linear":
        return None
    return fit_thresholds(X, offsets) if kind == "thresholds" else fit_fourier(X, offsets, scaling)


def fit_thresholds(X, offsets):
    """Return Thresholds of the columns of X that differ within a query."""
    queries = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    steps = parallel_map(lambda column: fit_steps(X[:, column], queries), range(X.shape[1]))
    columns = np.repeat(np.arange(X.shape[1]), [len(values) for values, _ in steps])
    values, heights = (np.concatenate([*parts, np.zeros(0)]) for parts in zip(*steps))
    return Thresholds(columns.astype(np.int64), values.astype(np.float64), heights)


def fit_steps(values, queries):
    """Return (thresholds (k,), heights (k,)) of a feature (l,); queries (l,): numbers of the documents' queries."""
    cuts, sizes = choose_cuts(values), np.bincount(queries)
    above = [np.bincount(queries[values > cut], minlength=len(sizes)) for cut in cuts]
    above = np.array(above).reshape(len(cuts), len(sizes))
    squares = (above * (sizes - above) / np.maximum(sizes, 1)).sum(axis=1)
    varying = squares > 0
    return cuts[varying], np.sqrt(len(values) / squares[varying])


def choose_cuts(values):
    """Return at most eight cuts (k,) float64, ascending, that divide values (l,) into bins of similar size.

    A cut is halfway between two values, so that a value keeps its side if it is rounded, as in float32. A value that
    fills a bin has one of its own, so the other bins divide the rest evenly. Otherwise the quantiles of a feature that
    is mostly 0 would all be 0. Few values have a bin each.
    """
    steps = 8  # thresholds of a feature
    levels, counts = np.unique(values, return_counts=True)
    ends, cuts, first, used = np.cumsum(counts), [], 0, 0
    for bins in range(steps + 1, 1, -1):
        even = -(-(len(values) - used) // bins) if len(levels) - first > bins else 0
        least = max(even, LEAST)
        last = int(np.searchsorted(ends, used + least))
        full = np.flatnonzero(counts[first + 1 :] >= least)
        last = min(last, first + int(full[0])) if len(full) else last
        if last >= len(levels) or len(values) - ends[last] < LEAST:
            break
        if ends[last] - used >= LEAST:
            cuts.append(midpoint(*levels[last : last + 2].tolist()))
        first, used = last + 1, ends[last]
    return np.array(cuts, np.float64)


def midpoint(low, high):
    """Return a number halfway between low and high, low if there is none below high."""
    middle = low / 2 + high / 2
    return middle if low <= middle < high else low


def fit_fourier(X, offsets, scaling=UNSCALED):
    """Return Fourier with a bandwidth from the distances of the documents of X from their query's mean.

    scaling: the Scaling that X will have.
    """
    width = 2.0  # of the kernel, in median distances between documents of a query
    is_known = scaling.kind == "deviation"
    factor = scaling.factor if is_known else inverse(dense_spread(X, offsets)[1])
    bandwidth = width * np.sqrt(2.0) * median_distance(X, offsets, factor)
    extra = WAVES if bandwidth > 0.0 else 0
    draw = np.random.default_rng([0, Numpy.FOURIER_FEATURES.start])
    factor = factor if scaling.factor is None else factor * inverse(scaling.factor)  # of X once it is scaled
    directions = draw.standard_normal((X.shape[1], extra)) * (factor / (bandwidth or 1.0))[:, None]
    return Fourier(directions, draw.uniform(0.0, 2.0 * np.pi, extra))


def median_distance(X, offsets, factor):
    """Return the median distance of documents from the mean of their query, without documents that are at it.

    Of many documents, those of evenly spaced blocks of queries with about SAMPLED documents.
    """
    offsets = np.unique(offsets)  # without empty queries
    blocks = query_blocks(offsets, max(1, BLOCK // X.shape[1]))
    blocks = blocks[:: max(1, X.shape[0] // SAMPLED)]
    distances = parallel_map(lambda queries: query_distances(X, offsets[queries[0] : queries[1] + 1], factor), blocks)
    distances = np.concatenate([*distances, np.zeros(0)])
    nonzero = distances[distances > 0.0]
    return float(np.median(nonzero)) if len(nonzero) else 0.0


def query_distances(X, offsets, factor):
    """Return the distances (l,) of the documents of queries from the mean of their query."""
    X, starts, lengths = X[offsets[0] : offsets[-1]], offsets[:-1] - offsets[0], np.diff(offsets)
    away = (X - np.repeat(X[starts], lengths, axis=0)) * factor
    away -= np.repeat(np.add.reduceat(away, starts) / lengths[:, None], lengths, axis=0)
    return np.sqrt(np.einsum("ij,ij->i", away, away))


class Expanded:
    """X (l, n), dense, with the features of a map; a block at a time is in memory.

    offsets (m + 1,): of the queries, whose documents stay together in a block, or None. scaling: the Scaling that the
    GPU applies to its copy of X, which is scaled otherwise; resident: the number of the first documents of this copy,
    while others travel. Blocks are stored if all of them are small.
    """

    dtype = np.dtype(np.float64)

    def __init__(self, X, map, offsets=None, scaling=UNSCALED):
        self.X, self.map, self.offsets, self.scaling = X, map, offsets, scaling
        self.shape, self.resident = (X.shape[0], width(map, X.shape[1])), X.shape[0]
        self.size = self.shape[0] * self.shape[1]
        self.stored = {} if self.size <= KEPT else None

    def keeping(self, documents):
        """Return the same features with this number of documents resident."""
        other = copy.copy(self)
        other.resident = documents
        return other

    @property
    def travelling(self):
        """Bytes of X that travel in each pass."""
        return (self.X.shape[0] - self.resident) * self.X.shape[1] * self.X.itemsize

    @functools.cached_property
    def runs(self):
        """The slices of `make_runs` for blocks of BLOCK numbers; a GPU has larger ones."""
        documents = self.X.shape[0] if self.offsets is None else self.offsets
        return make_runs(documents, max(1, BLOCK // self.shape[1]))

    def __getitem__(self, rows):
        """Return the expanded features of a slice of documents, (rows, width) float64."""
        X = self.X[rows].astype(np.float64)
        out = np.empty((len(X), self.shape[1]))
        out[:, : X.shape[1]] = X
        if self.map.extra:
            self.map.fill(X, out[:, X.shape[1] :])
        return out

    def block(self, rows):
        """Return the features of a slice of `runs`, which the caller does not change."""
        if self.stored is None:
            return self[rows]
        if rows.start not in self.stored:
            self.stored[rows.start] = self[rows]
        return self.stored[rows.start]

    def each(self, function, runs):
        """Return [function(run)] of runs, on all cores; the results do not depend on their number."""
        with single_threaded_blas():
            return parallel_map(function, runs)


def width(map, n):
    """Return the number of weights for n features."""
    return n if map is None else n + map.extra


def to_dense(X, name, names=None):
    """Return X, dense if it was sparse; DataError if it has too many columns. names: an inputs.Occurring."""
    n, most = getattr(names, "n_features", X.shape[1]), 4096
    if n > most and hasattr(X, "indptr"):
        raise DataError(
            f"features={name!r} needs a dense X, and this sparse one has {n:,} columns, more than {most:,}. Use "
            "features='linear' (--features linear), or fewer columns."
        )
    return np.ascontiguousarray(X.toarray()) if hasattr(X, "indptr") else X
