"""Build graphs of sensors from coordinates, distances or correlated series."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gpukit.base import check_integer
from gpukit.base.arrays import as_array
from gpukit.errors import DataError
from gpukit.graphs.adjacency import ROUNDING, first_occurrences
from gpukit.graphs.adopt import numbers
from gpukit.graphs.columns import is_called
from gpukit.graphs.table import named_pairs
from gpukit.graphs.table import pairs_of as pairs_in
from gpukit.graphs.table import square_of as square_in
from gpukit.graphs.tensor import Graph
from gpukit.io.arrays import as_frame, is_frame, normalize_name
from gpukit.io.sheet import open_table
from gpukit.io.words import as_ids, quote, refuse_repeated

if TYPE_CHECKING:
    from gpukit.typing import ArrayLike, Table

SMALLEST_WEIGHT = 1e-3  # so that remote vertices have neighbours; test
RADIUS = 6371.0088  # km, mean radius of the earth
FIRST = {"lat", "latitude", "y", "northing", "ycoord", "ycoordinate"}
SECOND = {"lon", "lng", "long", "longitude", "x", "easting", "xcoord", "xcoordinate"}
THIRD = {"z", "zcoord", "zcoordinate"}
BLOCK = 1 << 20  # correlations per block, to fit the cache
DEGREES = {"lat", "latitude", "lon", "lng", "long", "longitude"}


class Coordinates(NamedTuple):
    """Coordinates of vertices.

    places (N, 2) float64: latitude and longitude in degrees, or y and x; ids (N,) or None; degrees: True for the
    former; source: their file.
    """

    places: np.ndarray
    ids: np.ndarray | None
    degrees: bool
    source: str = ""


def graph_from_coordinates(
    coordinates: Coordinates | Table, neighbors: int | None = None, degrees: bool | None = None
) -> Graph:
    """Return the graph that joins each vertex to its nearest neighbours.

    Weights are exp(-(d / s)^2), s the median of the neighbours' distances d, at least 0.001.

    Parameters
    ----------
    coordinates : DataFrame or (N, 2)
        Columns latitude and longitude (great-circle distances), or x and y; the index holds the labels of the vertices,
        unless it is the default index and there is one other column. An array has x and y, or, with degrees=True,
        latitude and longitude.
    neighbors : int or None
        Number of nearest neighbours of each vertex (None: 8); others may add more.
    degrees : bool or None
        Of an array: latitude and longitude.

    Returns
    -------
    Graph
        adjacency (N, N) and vertices, the labels or None.

    Raises
    ------
    ParameterError
    DataError
        Coordinates are missing or out of range.

    Examples
    --------
    >>> from gpukit import graph_from_coordinates
    >>> graph_from_coordinates([[0, 0], [0, 1], [1, 1]], neighbors=1).adjacency.shape
    (3, 3)
    """
    if isinstance(coordinates, Coordinates):
        return knn_graph(coordinates, neighbors)
    coordinates = as_frame(coordinates)
    if is_frame(coordinates):
        return knn_graph(coordinates_of_frame(coordinates), neighbors)
    array = as_array(coordinates, "the coordinates")
    if array.ndim != 2 or array.shape[1] != 2 or array.dtype.kind not in "biuf":
        raise DataError(f"coordinates are (N, 2) numbers; got {array.dtype}, shape {array.shape}.")
    array = array.astype(np.float64)
    return knn_graph(Coordinates(array if degrees else array[:, ::-1], None, bool(degrees)), neighbors)


def coordinates_of_frame(frame):
    """Return the Coordinates of a DataFrame."""
    label, first, second = columns_of(frame.columns, "the coordinates")
    counted = type(frame.index).__name__ == "RangeIndex"
    if counted and frame.shape[1] > 3:
        raise DataError(
            f"the coordinates have the columns {', '.join(map(str, frame.columns))}: which labels the vertices is not "
            "clear. Make it the index: .set_index(...)."
        )
    labels = frame.index if not counted else None if label is None else frame.iloc[:, label]
    places = frame.iloc[:, [first, second]].to_numpy(np.float64, na_value=np.nan)
    ids = None if labels is None else as_ids(list(map(str, labels)))
    return Coordinates(places, ids, normalize_name(frame.columns[first]) in DEGREES)


def columns_of(names, what):
    """Return the positions of the label column (or None) and of both coordinates.

    Raises DataError if the coordinates are not among the names.
    """
    titles, names = ", ".join(map(str, names)), list(map(normalize_name, names))
    result = [[index for index, name in enumerate(names) if name in group] for group in (FIRST, SECOND)]
    if not all(result):
        raise DataError(
            f"{what}: the columns are {titles}; latitude and longitude, or x and y, are to be among them. Name them "
            "so, in the first line of a text: sensor,latitude,longitude."
        )
    if not THIRD.isdisjoint(names):
        raise DataError(
            f"{what}: the columns are {titles}, and distances are of two coordinates. Leave the third one out if it "
            "says little, or give the distances themselves (--distances, graph_from_distances)."
        )
    rest = [index for index in range(len(names)) if index not in (result[0][0], result[1][0])]
    unnamed = ("", "index", "id", "name")
    rest.sort(key=lambda at: (names[at] != "label", not is_called(names[at], "sensor"), names[at] in unnamed))
    return (*rest, None)[0], result[0][0], result[1][0]


def knn_graph(positions, neighbors=None):
    """Return the Graph of Coordinates."""
    from scipy.spatial import cKDTree

    check(positions)
    count = len(positions.places)
    k = how_many(neighbors, count)
    points = to_sphere(positions.places) if positions.degrees else scale_near_one(positions.places)
    distances, others = cKDTree(points).query(points, min(count, k + 1))
    distances, others = distances.reshape(count, -1), others.reshape(count, -1)
    rows = np.repeat(np.arange(count), others.shape[1]).reshape(others.shape)
    is_other = others != rows
    is_kept = is_other & (np.cumsum(is_other, axis=1) <= k)
    rows, columns, distances = rows[is_kept], others[is_kept], distances[is_kept]
    if positions.degrees:
        distances = 2 * RADIUS * np.arcsin(np.minimum(distances / (2 * RADIUS), 1.0))
    scale = float(np.median(distances)) if len(distances) else 0.0
    return Graph(symmetric_graph(rows, columns, gaussian(distances, scale), count), positions.ids)


def to_sphere(places):
    """Return latitude and longitude in degrees as points (N, 3) in km."""
    north, east = np.radians(places).T
    return RADIUS * np.column_stack((np.cos(north) * np.cos(east), np.cos(north) * np.sin(east), np.sin(north)))


def check(positions):
    """Raise DataError for invalid coordinates or repeated labels."""
    largest = 1e150  # coordinate whose squared differences fit float64
    places, ids = positions.places, positions.ids
    if not len(places):
        raise DataError("the coordinates are empty: give a line for each vertex.")
    wrong = ~(np.abs(places) <= largest).all(axis=1)
    if positions.degrees:
        wrong |= (np.abs(places[:, 0]) > 90) | (np.abs(places[:, 1]) > 360)
    if wrong.any():
        index = int(np.argmax(wrong))
        kind = "latitude (-90 to 90) and longitude (-180 to 180)" if positions.degrees else "coordinates, y and x,"
        raise DataError(
            f"the {kind} of {vertex_name(ids, index)} are {', '.join(f'{value:g}' for value in places[index])}. "
            "Correct the line."
        )
    if ids is not None:
        refuse_repeated(list(map(str, ids)), "the coordinates have the label")


def vertex_name(ids, position):
    """Return a vertex's name for messages."""
    return f"vertex {position}" if ids is None else f"{ids[position]}"


def read_coordinates(path):
    """Return the Coordinates in a text or Parquet file.

    The header names latitude and longitude, or x and y, and a column of labels. Without labels, lines are in the order
    of the vertices.
    """
    table = open_table(path)
    label, first, second = columns_of(table.first, table.path)
    frame = table.frame(True, spelled=len(table.first))
    places = table.numbers(frame[[first, second]])
    names = [] if label is None else table.words(frame[label])
    if "" in names:
        raise DataError(f"{table.path}, {table.place(names.index(''))} has no label. Correct or remove it.")
    ids = as_ids(names, f"{table.path}: vertex") if names else None
    return Coordinates(places, ids, normalize_name(table.first[first]) in DEGREES, table.path)


def select(coordinates, ids):
    """Return the Coordinates of the vertices ids, in their order.

    Other labels are left out. Raises DataError for a vertex without coordinates.
    """
    path, known = coordinates.source, coordinates.ids
    if known is None and len(ids) == len(coordinates.places):
        return coordinates
    if known is None:
        raise DataError(
            f"{path} has {len(coordinates.places):,} lines without labels, and there are {len(ids):,} vertices. Give "
            "each line the label of its vertex."
        )
    refuse_repeated(list(map(str, known)), f"{path} has the label")
    places = {name: row for row, name in enumerate(map(str, known))}
    lacking = [value for value in map(str, ids) if value not in places]
    if lacking:
        more = f", nor of {len(lacking) - 1:,} others" if len(lacking) > 1 else ""
        raise DataError(
            f"{path} has no coordinates of {quote(lacking[0])}{more}. Labels are matched as they are spelled; give "
            "every vertex a line."
        )
    return coordinates._replace(places=coordinates.places[[places[value] for value in map(str, ids)]], ids=ids)


def graph_from_distances(distances: Table, neighbors: int | None = None, ids: ArrayLike | None = None) -> Graph:
    """Return the graph whose weights decrease with distance.

    As in Li et al., "Diffusion Convolutional Recurrent Neural Network" (ICLR 2018): exp(-(d / s)^2), s the standard
    deviation of the distances; no edge below 0.1, but every vertex keeps its nearest neighbour.

    Parameters
    ----------
    distances : (N, N), DataFrame or list
        A square array or DataFrame (NaN and infinity: no edge), or a DataFrame or list of (vertex, vertex, distance).
        Of a pair in both directions, the shorter distance is used, with a UserWarning if they differ.
    neighbors : int or None
        Number of nearest neighbours of each vertex. None: all with weight 0.1.
    ids : (N,) or None
        The vertices to use, in this order. None: all.

    Returns
    -------
    Graph
        adjacency (N, N) and vertices.

    Raises
    ------
    DataError
        A distance is negative, or not 0 from a vertex to itself, there are none, ids are repeated, or a pair has two
        distances in one direction.

    Examples
    --------
    >>> from gpukit import graph_from_distances
    >>> graph_from_distances([("a", "b", 1.0), ("b", "c", 2.0)]).vertices.tolist()
    ['a', 'b', 'c']
    """
    import pandas

    least_weight = 0.1  # Li et al.
    if ids is not None:
        refuse_repeated(list(map(str, ids)), "the vertices have the label")
    rows, columns, lengths, ids = pairs_of(as_frame(distances), ids)
    loops = np.flatnonzero((rows == columns) & np.isfinite(lengths) & (lengths != 0))
    if loops.size:
        raise DataError(
            f"the distance from {ids[rows[loops[0]]]} to itself is {lengths[loops[0]]:g}, not 0. Correct it; weights, "
            "which grow with likeness, are edges (--edges)."
        )
    is_edge = (rows != columns) & np.isfinite(lengths)
    rows, columns, lengths = rows[is_edge], columns[is_edge], lengths[is_edge]
    if (lengths < 0).any():
        raise DataError(f"a distance is {lengths.min():g}; distances are not negative.")
    if not len(lengths):
        raise DataError("no two of the vertices have a distance.")
    first = np.sort(first_occurrences(rows, columns, lengths, ids, "pair of", "distance"))
    rows, columns, lengths = rows[first], columns[first], lengths[first]
    warn_of_directions(rows, columns, lengths, ids)
    lengths = scale_near_one(lengths)
    weights = gaussian(lengths, float(np.std(np.r_[lengths, np.zeros(len(ids))])))
    rank = pandas.Series(lengths).groupby(rows).rank(method="first").to_numpy()
    is_kept = (
        rank <= how_many(neighbors, len(ids)) if neighbors is not None else (weights >= least_weight) | (rank == 1)
    )
    return Graph(symmetric_graph(rows[is_kept], columns[is_kept], weights[is_kept], len(ids)), ids)


def warn_of_directions(rows, columns, lengths, ids):
    """Warn of pairs whose distance depends on the direction."""
    order = np.lexsort((np.maximum(rows, columns), np.minimum(rows, columns)))
    row, column, length = rows[order], columns[order], lengths[order]
    is_pair = (row[:-1] == column[1:]) & (column[:-1] == row[1:])
    differs = is_pair & (np.abs(np.diff(length)) > ROUNDING * length[1:])
    if differs.any():
        at = int(np.argmax(differs))
        warnings.warn(
            f"{np.count_nonzero(differs):,} pairs have another distance in the other direction, such as {length[at]:g} "
            f"from {ids[row[at]]} to {ids[column[at]]} and {length[at + 1]:g} back. The shorter one is used.",
            stacklevel=3,
        )


def pairs_of(distances, ids):
    """Return (rows, columns, lengths, ids) of distances in any form."""
    import pandas

    if not is_frame(distances):
        array = as_array(distances, "distances")
        if array.ndim != 2:
            raise DataError(f"distances are a table, with two axes; the shape of these is {array.shape}.")
        if array.shape[0] == array.shape[1] and array.dtype.kind in "biuf":
            names = np.arange(len(array)) if ids is None else ids
            distances = pandas.DataFrame(array, names, names)
        else:
            distances = pandas.DataFrame(distances)  # each column with its own type
    labelled = type(distances.columns).__name__ != "RangeIndex" and set(distances.index) == set(distances.columns)
    columns = named_pairs([*map(str, distances.columns)], "distance")
    distances = distances.iloc[:, list(columns)] if len(columns) == 3 else distances
    if distances.shape[1] != 3 or labelled:
        *ends, lengths = edges_of_square(distances, ids)
    else:
        ends, lengths = [distances.iloc[:, index].map(str) for index in (0, 1)], lengths_of(distances.iloc[:, 2])
    known = pandas.Index(list(map(str, ids)) if ids is not None else pandas.unique(pandas.concat(ends)))
    rows, columns = (known.get_indexer(value) for value in ends)
    is_present = (rows >= 0) & (columns >= 0)
    return rows[is_present], columns[is_present], lengths[is_present], as_ids(known.tolist()) if ids is None else ids


def edges_of_square(frame, ids):
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
        return distances.to_numpy(np.float64, na_value=np.nan)
    except (TypeError, ValueError) as error:
        raise DataError(f"the distances hold what is no number ({error}).") from error


def gaussian(distances, scale):
    """Return exp(-(d / scale)^2), at least SMALLEST_WEIGHT; 1 if scale is 0."""
    if not scale > 0:
        return np.ones(len(distances))
    return np.maximum(np.exp(-np.square(distances / scale)), SMALLEST_WEIGHT)


def scale_near_one(numbers):
    """Scale numbers by a power of two so that their squares fit float64.

    The largest is then in [1/2, 1).
    """
    return np.ldexp(numbers, -int(np.frexp(np.abs(numbers).max(initial=0.0))[1]))


def symmetric_graph(rows, columns, weights, count):
    """Return a symmetric csr (count, count) float64 of pairs.

    A pair in both directions has the larger weight.
    """
    from scipy import sparse

    places = np.asarray(rows, np.int32), np.asarray(columns, np.int32)
    graph = sparse.csr_array((weights, places), shape=(count, count))
    return graph.maximum(graph.T).tocsr()


def how_many(neighbors, count):
    """Return the number of neighbours (None: 8), at most count - 1.

    Raises ParameterError for less than one.
    """
    wanted = 8 if neighbors is None else check_integer("neighbors", neighbors, 1)
    return min(wanted, count - 1)


def read_distances(path):
    """Return a file's distances as a frame for graph_from_distances.

    The frame has (vertex, vertex, distance), or is square.
    """
    import pandas

    table = open_table(path)
    if len(table.first) == 3 or len(named_pairs(table.first, "distance")) == 3:
        ends, lengths, ids = pairs_in(table, "pair", "distance")
        return pandas.DataFrame({0: ids[ends[:, 0]], 1: ids[ends[:, 1]], 2: lengths}).set_axis(range(3), axis=1)
    array, ids = square_in(table)
    names = list(map(str, range(len(array)) if ids is None else ids))
    return pandas.DataFrame(array, index=names, columns=names)


def graph_from_series(values: ArrayLike, neighbors: int | None = None, ids: ArrayLike | None = None) -> Graph:
    """Return the graph that joins vertices with the most correlated series.

    Weights are correlations over the columns in which both are observed, shrunk if these are few, at least 0.001. A
    vertex without observed values is isolated, unless no two vertices are joined otherwise: then each is joined to the
    next.

    Parameters
    ----------
    values : (N, T)
        NaN where missing.
    neighbors : int or None
        Number per vertex (None: 8).
    ids : (N,) or None
        Labels of the vertices.

    Returns
    -------
    Graph
        adjacency (N, N) and vertices.

    Raises
    ------
    DataError
        The values are not numbers, or there are none, or they are a data frame.

    Examples
    --------
    >>> from gpukit import graph_from_series
    >>> graph_from_series([[1, 2, 3, 5], [1, 2, 4, 5], [4, 1, 3, 0]], neighbors=1).adjacency.shape
    (3, 3)
    """
    if hasattr(values, "iloc") or hasattr(values, "to_pandas"):
        raise DataError(
            "graph_from_series takes an array with a row per vertex: of a table of times by sensors give "
            "frame.T.to_numpy(), and ids=frame.columns. GraphImputer().fit(frame) makes this graph itself."
        )
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
        rows, columns, weights = (np.concatenate(value) for value in zip(*parts))
    return Graph(symmetric_graph(rows, columns, weights, count), ids)


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
        similarities = likeness(rest, squares, seen, rows)
        similarities[:, ~alive] = -np.inf
        similarities[np.arange(len(rows)), rows] = -np.inf
        columns = np.argpartition(-similarities, k - 1, axis=1)[:, :k]
        weights = np.maximum(np.take_along_axis(similarities, columns, axis=1), SMALLEST_WEIGHT)
        yield np.repeat(rows, k), columns.ravel(), weights.ravel()


def likeness(rest, squares, seen, rows):
    """Return shrunk correlations (len(rows), N) of series.

    They use the columns in which both are observed, and are shrunk if these are few.
    """
    product, both = rest[rows] @ rest.T, seen[rows] @ seen.T
    size = np.sqrt((squares[rows] @ seen.T) * (seen[rows] @ squares.T))
    result = np.divide(product, size, out=np.zeros(product.shape), where=size > 0)
    return result * both / (both + 10)
