"""Build a graph of vertices with the most similar series."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpukit.errors import DataError
from gpukit.graphs.constants import SMALLEST_WEIGHT
from gpukit.graphs.convert import numbers
from gpukit.graphs.near.distances import how_many, joined
from gpukit.graphs.tensor import Graph

if TYPE_CHECKING:
    from gpukit.typing import ArrayLike

BLOCK = 1 << 20  # correlations per block, to fit the cache; tens of MB in all


def graph_from_series(values: ArrayLike, neighbors: int | None = None, ids: ArrayLike | None = None) -> Graph:
    """Return the Graph that joins vertices with the most correlated series.

    values (N, T), NaN where missing. neighbors: number per vertex (None: 8). Weights are correlations over the columns
    in which both are observed, shrunk if these are few, at least 0.001. A vertex without observed values is isolated,
    unless no two vertices are joined otherwise: then each is joined to the next. Raises DataError for non-numeric or no
    values.
    """
    values = numbers(values, "the series").astype(np.float64, copy=False)
    if not values.size or not values.ndim:
        raise DataError(f"a graph is made of series, a row a vertex; the shape of these is {values.shape}.")
    values = values.reshape(len(values), -1)
    count, length = values.shape
    values = values[:, np.unique(np.linspace(0, length - 1, min(length, 20_000)).astype(int))]
    k, alive = how_many(neighbors, count), np.isfinite(values).any(axis=1)
    parts = [part for part in blocks(values, alive, k)] if alive.sum() > 1 else []
    if not parts:
        rows, columns, weights = np.arange(count - 1), np.arange(1, count), np.ones(count - 1)
    else:
        rows, columns, weights = (np.concatenate(one) for one in zip(*parts))
    return Graph(joined(rows, columns, weights, count), ids)


def blocks(values, alive, k):
    """Yield (rows, columns, weights) of the k most similar vertices, in blocks."""
    seen = np.isfinite(values).astype(np.float64)
    rest = np.where(seen > 0, values, 0.0)
    rest -= seen * (rest.sum(axis=1) / np.maximum(seen.sum(axis=1), 1))[:, None]
    largest = np.abs(rest).max(axis=1, keepdims=True)
    rest /= np.where(largest > 0, largest, 1.0)
    squares, k = np.square(rest), min(k, int(alive.sum()) - 1)
    step = max(1, BLOCK // len(values))
    for start in range(0, len(values), step):
        part = slice(start, min(start + step, len(values)))
        rows = np.flatnonzero(alive[part]) + start
        alike = likeness(rest, squares, seen, rows)
        alike[:, ~alive] = -np.inf
        alike[np.arange(len(rows)), rows] = -np.inf
        columns = np.argpartition(-alike, k - 1, axis=1)[:, :k]
        weights = np.maximum(np.take_along_axis(alike, columns, axis=1), SMALLEST_WEIGHT)
        yield np.repeat(rows, k), columns.ravel(), weights.ravel()


def likeness(rest, squares, seen, rows):
    """Return shrunk correlations (len(rows), N) of series.

    They use the columns in which both are observed, and are shrunk if these are few.
    """
    product, both = rest[rows] @ rest.T, seen[rows] @ seen.T
    size = np.sqrt((squares[rows] @ seen.T) * (seen[rows] @ squares.T))
    found = np.divide(product, size, out=np.zeros(product.shape), where=size > 0)
    return found * both / (both + 10)
