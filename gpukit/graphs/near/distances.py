"""Build a graph from pairwise distances; convert distances to weights."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpukit.base import check_integer
from gpukit.base.arrays import as_array
from gpukit.errors import DataError
from gpukit.graphs.constants import LEAST_WEIGHT, SMALLEST_WEIGHT
from gpukit.graphs.tensor import Graph
from gpukit.graphs.text import pairs_of as pairs_in
from gpukit.graphs.text import square_of as square_in
from gpukit.io.arrays import as_frame, is_frame
from gpukit.io.sheet import open_table
from gpukit.io.words import as_ids, first_repeated

if TYPE_CHECKING:
    from gpukit.typing import ArrayLike, Table


def graph_from_distances(distances: Table, neighbors: int | None = None, ids: ArrayLike | None = None) -> Graph:
    """Return the Graph whose weights decrease with distance.

    As in Li et al., "Diffusion Convolutional Recurrent Neural Network" (ICLR 2018): exp(-(d / s)^2), s the standard
    deviation of the distances; no edge below 0.1.

    distances: a square array or DataFrame (NaN and infinity: no edge), or a DataFrame or list of (vertex, vertex,
    distance). Of a pair in both directions, the shorter distance is used. Every vertex keeps its nearest neighbour,
    even below that weight. neighbors: number of nearest neighbours of each vertex (None: all with weight 0.1). ids: the
    vertices to use, in this order (None: all). Raises DataError for negative or no distances, and for repeated ids.
    """
    twice = None if ids is None else first_repeated(list(map(str, ids)))
    if twice is not None:
        raise DataError(f"the vertices have the label {twice!r} twice; labels must differ.")
    rows, columns, lengths, ids = pairs_of(as_frame(distances), ids)
    apart = (rows != columns) & np.isfinite(lengths)
    rows, columns, lengths = rows[apart], columns[apart], lengths[apart]
    if (lengths < 0).any():
        raise DataError(f"a distance is {lengths.min():g}; distances are not negative.")
    if not len(lengths):
        raise DataError("no two of the vertices have a distance.")
    lengths = near_one(lengths)
    weights = gaussian(lengths, float(np.std(np.r_[lengths, np.zeros(len(ids))])))
    rank = ranks(rows, lengths)
    kept = rank < how_many(neighbors, len(ids)) if neighbors is not None else (weights >= LEAST_WEIGHT) | (rank == 0)
    return Graph(joined(rows[kept], columns[kept], weights[kept], len(ids)), ids)


def pairs_of(distances, ids):
    """Return (rows, columns, lengths, ids) of distances in any form."""
    import pandas

    if not is_frame(distances):
        array = as_array(distances, "distances")
        if array.ndim != 2:
            raise DataError(f"distances are a table, with two axes; the shape of these is {array.shape}.")
        if array.shape[0] == array.shape[1]:
            names = np.arange(len(array)) if ids is None else ids
            distances = pandas.DataFrame(array, names, names)
        else:
            distances = pandas.DataFrame(distances)  # each column with its own type
    labelled = type(distances.columns).__name__ != "RangeIndex" and set(distances.index) == set(distances.columns)
    if distances.shape[1] != 3 or labelled:
        *ends, lengths = of_square(distances, ids)
    else:
        ends, lengths = [distances.iloc[:, at].map(str) for at in (0, 1)], lengths_of(distances.iloc[:, 2])
    known = pandas.Index(list(map(str, ids)) if ids is not None else pandas.unique(pandas.concat(ends)))
    rows, columns = (known.get_indexer(one) for one in ends)
    there = (rows >= 0) & (columns >= 0)
    return rows[there], columns[there], lengths[there], as_ids(known.tolist()) if ids is None else ids


def of_square(frame, ids):
    """Return (vertices, vertices, distances) of a labelled square DataFrame."""
    import pandas

    rows, columns = list(map(str, frame.index)), list(map(str, frame.columns))
    if set(rows) != set(columns) or len(set(rows)) < len(rows):
        raise DataError(
            f"the distances have {frame.shape[0]:,} rows and {frame.shape[1]:,} columns: give (vertex, vertex, "
            "distance), or a square table with the same labels on both sides."
        )
    lacking = next((name for name in map(str, () if ids is None else ids) if name not in set(rows)), None)
    if lacking is not None:
        raise DataError(f"the distances have no vertex {lacking!r}.")
    ends = pandas.Series(np.repeat(rows, len(columns))), pandas.Series(np.tile(columns, len(rows)))
    return *ends, lengths_of(frame).ravel()


def lengths_of(distances):
    """Return distances as float64; DataError for values that are not numbers."""
    try:
        if hasattr(distances, "to_numpy"):
            return distances.to_numpy(np.float64, na_value=np.nan)
        return distances.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"the distances hold what is no number ({error}).") from error


def ranks(rows, lengths):
    """Return the number of shorter pairs in the same row, (E,)."""
    order = np.lexsort((lengths, rows))
    starts = np.r_[0, np.flatnonzero(np.diff(rows[order])) + 1]
    within = np.arange(len(rows)) - np.repeat(starts, np.diff(np.r_[starts, len(rows)]))
    out = np.empty(len(rows), np.int64)
    out[order] = within
    return out


def gaussian(distances, scale):
    """Return exp(-(d / scale)^2), at least SMALLEST_WEIGHT; 1 if scale is 0."""
    if not scale > 0:
        return np.ones(len(distances))
    return np.maximum(np.exp(-np.square(distances / scale)), SMALLEST_WEIGHT)


def near_one(numbers):
    """Scale numbers by a power of two so that their squares fit float64.

    The largest is then in [1/2, 1).
    """
    return np.ldexp(numbers, -int(np.frexp(np.abs(numbers).max(initial=0.0))[1]))


def joined(rows, columns, weights, count):
    """Return a symmetric csr (count, count) float64 of pairs.

    A pair in both directions has the larger weight.
    """
    from scipy import sparse

    places = np.asarray(rows, np.int32), np.asarray(columns, np.int32)
    one = sparse.csr_array((weights, places), shape=(count, count))
    return one.maximum(one.T).tocsr()


def how_many(neighbors, count):
    """Return the number of neighbours (None: 8), at most count - 1.

    Raises ParameterError for less than one.
    """
    asked = 8 if neighbors is None else check_integer("neighbors", neighbors, 1)
    return min(asked, count - 1)


def read_distances(path):
    """Return a file's distances as a frame for graph_from_distances.

    The frame has (vertex, vertex, distance), or is square.
    """
    import pandas

    table = open_table(path)
    if len(table.first) == 3:
        ends, lengths, ids = pairs_in(table, "pair", "distance")
        return pandas.DataFrame({0: ids[ends[:, 0]], 1: ids[ends[:, 1]], 2: lengths})
    array, ids = square_in(table)
    names = list(map(str, range(len(array)) if ids is None else ids))
    return pandas.DataFrame(array, index=names, columns=names)
