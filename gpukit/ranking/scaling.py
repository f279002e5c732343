"""Scaling of features before training; the fitted scaling is part of the model.

    none     unchanged
    minmax   each feature to [0, 1] by the training set's range. Later documents are not clipped: values outside the
             range become negative or exceed 1. A constant feature becomes 0, also at prediction
    deviation  each feature to deviation 1 within queries, over the training set. A feature that is constant within
             every query, and so in no pair's difference, becomes 0

A sparse X can be divided, not shifted: with minmax it is divided by the largest value, if none is negative; with
deviation by the deviation, like a dense one.
"""

from typing import NamedTuple

import numpy as np

from gpukit._pool import map_row_blocks
from gpukit.errors import DataError
from gpukit.scheduler import by_block

KINDS = ("none", "minmax", "deviation")
FITTED = ("minmax", "deviation")  # kinds with low and factor
RUN = 4096  # rows per task of a thread


class Scaling(NamedTuple):
    """A kind of KINDS; for FITTED low (n,) float64 and factor (n,) float64: x becomes (x - low) * factor."""

    kind: str
    low: np.ndarray | None = None
    factor: np.ndarray | None = None

    def apply(self, X):
        """Return X (l, n) scaled, in its dtype; a new array unless kind is none."""
        if self.kind == "none":
            return X
        if hasattr(X, "indptr"):
            return type(X)(((X.data * self.factor[X.indices]).astype(X.dtype), X.indices, X.indptr), X.shape)
        out = np.empty_like(X)
        _shift(X, self.low, self.factor, out)
        return out

    def missing(self, X, w):
        """Return the part of scores X w that is missing because a sparse X could not be shifted."""
        return -float((self.low * self.factor) @ w) if self.kind in FITTED and hasattr(X, "indptr") else 0.0


UNSCALED = Scaling("none")


def fit(kind, X, offsets=None, span=None):
    """Return the Scaling of the training set's X (l, n) with queries offsets (m + 1,).

    span: `ranges` of X if they are known. Raises DataError for a kind that a sparse X does not support, and for a
    feature that float64 cannot scale.
    """
    if kind not in FITTED:
        return Scaling(kind)
    span = span or ranges(X)
    check_spans(kind, *span)
    if kind == "deviation":
        low, spread = _sparse_spread(X, offsets) if hasattr(X, "indptr") else dense_spread(X, offsets, span)
        return Scaling(kind, low, inverse(spread))
    low, high = span
    if hasattr(X, "indptr") and low.any():
        raise DataError(
            f"scale='minmax' cannot shift a sparse X, and it holds {low.min():g}. Use scale='none', or X.toarray()."
        )
    return Scaling(kind, low, inverse(high - low))


def check_spans(kind, low, high):
    """Raise DataError for a feature whose range, or one divided by it, is not finite in float64."""
    with np.errstate(over="ignore", divide="ignore"):
        span = high - low
        wrong = np.flatnonzero((span > 0) & ~(np.isfinite(span) & np.isfinite(1.0 / span)))
    if wrong.size:
        column = wrong[0]
        raise DataError(
            f"scale={kind!r} (--scale {kind}) cannot scale feature {column + 1}, {low[column]:g} to {high[column]:g}: "
            "its range, or one divided by it, is beyond float64. Give the feature in another unit."
        )


def inverse(width):
    """Return 1 / width, and 0 where it is 0."""
    return np.divide(1.0, width, out=np.zeros(len(width)), where=width > 0)


def dense_range(X):
    """Return the smallest and largest value of each column, (n,) float64 each."""
    lows, highs = zip(*map_row_blocks(lambda rows: (X[rows].min(axis=0), X[rows].max(axis=0)), X.shape))
    return np.min(lows, axis=0).astype(np.float64), np.max(highs, axis=0).astype(np.float64)


def ranges(X):
    """Return the smallest and largest value of each column of a host X, (n,) float64 each; 0 counts if X is sparse."""
    if not hasattr(X, "indptr"):
        return dense_range(X)
    low, high = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    np.minimum.at(low, X.indices, X.data)
    np.maximum.at(high, X.indices, X.data)
    return low, high


def dense_spread(X, offsets, span=None):
    """Return (low, spread), (n,) each: the smallest value of each column, its root mean squared distance from the
    query's mean. span: `ranges` of X if they are known."""
    low, high = span or dense_range(X)
    squares = scatter(X, offsets, np.ones(X.shape[0]), inverse(high - low))
    return low, (high - low) * np.sqrt(squares / X.shape[0])


def constant_features(X, offsets):
    """Return the columns of a host X (l, n) that have one value within each query, (k,) int64."""
    if hasattr(X, "indptr"):
        return np.flatnonzero(_sparse_spread(X, offsets)[1] == 0)
    query, columns = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets)), np.arange(X.shape[1])
    for first in range(0, X.shape[0] - 1, RUN):
        rows = slice(first, first + RUN + 1)
        values, together = X[rows][:, columns], np.diff(query[rows]) == 0
        columns = columns[~(values[1:] != values[:-1])[together].any(axis=0)]
        if not columns.size:
            break
    return columns


def scatter(X, offsets, weights, factor):
    """Return the weighted sums of squared distances from the queries' weighted means, (n,), of the columns X * factor.

    A column that is constant within every query has exactly 0.
    """
    runs = np.linspace(0, len(offsets) - 1, max(-(-X.shape[0] // RUN), 1) + 1).astype(np.int64)
    squares = np.empty((len(runs) - 1, X.shape[1]))
    _scatter(X, np.asarray(offsets, np.int64), runs, weights, factor, squares)
    return squares.sum(axis=0)


def _sparse_spread(X, offsets):
    """Return dense_spread of a CSR matrix; low is 0. A spread of the size of rounding errors is 0."""
    rounding = 1e-12  # of squares: below it the result of a subtraction of sums of squares is 0
    from scipy.sparse import csr_array

    width = np.zeros(X.shape[1])
    np.maximum.at(width, X.indices, np.abs(X.data))
    exponent = np.frexp(width)[1]
    scaled = csr_array((np.ldexp(np.asarray(X.data, np.float64), -exponent[X.indices]), X.indices, X.indptr), X.shape)
    lengths, rows = np.diff(offsets), np.arange(X.shape[0])
    sums = csr_array((np.ones(X.shape[0]), rows, offsets), (len(lengths), X.shape[0])) @ scaled
    squares, means = scaled.power(2).sum(axis=0), sums.power(2).T @ inverse(lengths)
    spread = np.where(squares - means > rounding * squares, squares - means, 0.0)
    return np.zeros(X.shape[1]), np.ldexp(np.sqrt(spread / X.shape[0]), exponent)


@by_block(lambda squares: squares.shape[0])
def _scatter(start, stop, X, offsets, runs, weights, factor, squares):
    """Fill row `run` of squares with `scatter` of the queries runs[run]:runs[run + 1].

    Distances are from a query's first document, so that a constant gives 0.
    """
    for run in range(start, stop):
        total = squares[run]
        total[:] = 0.0
        for t in range(runs[run], runs[run + 1]):
            first, last = offsets[t], offsets[t + 1]
            sums, weight = np.zeros(X.shape[1]), weights[first:last].sum()
            for i in range(first, last):
                for f in range(X.shape[1]):
                    away = (np.float64(X[i, f]) - np.float64(X[first, f])) * factor[f]
                    sums[f] += weights[i] * away
                    total[f] += weights[i] * away * away
            if weight > 0.0:
                for f in range(X.shape[1]):
                    total[f] = max(total[f] - sums[f] * sums[f] / weight, 0.0)


@by_block(lambda X: X.shape[0])
def _shift(start, stop, X, low, factor, out):
    """out = (X - low) * factor."""
    for i in range(start, stop):
        for f in range(X.shape[1]):
            out[i, f] = (X[i, f] - low[f]) * factor[f]
