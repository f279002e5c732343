"""Read and write graph tensors, in one file or two.

Files of edges and values are text, Parquet or .npy.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from gpukit.arrayfile import refuse_surrogates
from gpukit.errors import DataError, ParameterError
from gpukit.graphs import graph_builders
from gpukit.graphs.adjacency import are_numbers, as_adjacency, list_names
from gpukit.graphs.adopt import (
    as_graph_tensor,
    check_slice,
    is_list,
    numbers,
    observed_mask,
    to_slices,
    validate_tensor,
)
from gpukit.graphs.table import Values, read_graph_text, read_table
from gpukit.graphs.tensor import Graph
from gpukit.graphs.time_parsing import check_times, read_times
from gpukit.io import archives, sources, trust
from gpukit.io.sheet import open_table
from gpukit.io.words import quote
from gpukit.persist import atomic_open

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpukit.graphs.graph_builders import Coordinates
    from gpukit.graphs.tensor import GraphTensor
    from gpukit.typing import Input, Path

EDGES = "a list of edges, an adjacency, or an .npz"
PARTS = ("data", "indices", "indptr", "shape")
OPTIONAL = ("mask", "vertices", "truth", "times")
GRAPH = {"adjacency", "edges", "weights", *PARTS, *(f"adjacency_{part}" for part in PARTS)}
NEEDED = (
    "tensor (N, m, n), (N, n) or (N,), NaN = missing; and adjacency (N, N), or adjacency_data, "
    "adjacency_indices, adjacency_indptr, adjacency_shape (or these as scipy.sparse.save_npz names them), or "
    "edges (E, 2) [weights (E,)]; optional mask, truth, vertices, times"
)


def read_graph(
    path: Input | None = None,
    *,
    edges: Input | Graph | None = None,
    tensor: Input | None = None,
    slice_shape: tuple[int, int] | None = None,
    layout: Literal["rows", "columns", "long"] | None = None,
    columns: str | Sequence[str] | None = None,
    coordinates: Input | Coordinates | None = None,
    distances: Input | None = None,
    neighbors: int | None = None,
    times: Input | None = None,
) -> GraphTensor:
    """Read values on a graph from one .npz, or from values and a graph.

    Parameters
    ----------
    path : str, Path, file or None
        An archive with `tensor` and `adjacency`, or its CSR parts, or `edges` [`weights`]; NEEDED has the keys, and
        as_graph_tensor their contents. Or a file of values, as `tensor`.
    edges : str, Path, file, Graph or None
        Text or Parquet (see read_graph_text), .npz or .npy.
    tensor : str, Path, file or None
        .npy, .npz, text or Parquet: a wide table (see read_table) or a long one. If values and edges have ids, the
        order is that of the values (for a long table that of the graph), and vertices that only they have are isolated.
    slice_shape : (m, n) or None
        Slices of rows of m n values.
    layout : {'rows', 'columns', 'long'} or None
        What a vertex is in a table, also in a .npy of (T, N); 'long' has one reading per line.
    columns : str, list of str or None
        Roles of the columns in the file's order, such as "time,sensor,-,value"; see columns.parse_option.
    coordinates : str, Path, file, Coordinates or None
        Without edges: the graph joins the nearest vertices by these coordinates.
    distances : str, Path, file or None
        Without edges: by these distances. Without coordinates too, by correlation of the values.
    neighbors : int or None
        Number of nearest neighbours of each vertex.
    times : str, Path, file or None
        The times of the columns, one per line or .npy, if the values' file has none (see read_times).

    Returns
    -------
    GraphTensor

    Raises
    ------
    DataError
        The content is missing, damaged, malformed or pickled.
    ParameterError
        The request is ambiguous.

    Examples
    --------
    >>> from pathlib import Path
    >>> from gpukit import read_graph
    >>> _ = Path("edges.csv").write_text("a,b\\nb,c\\n")
    >>> _ = Path("values.csv").write_text("time,a,b,c\\n1,1.0,,3.0\\n2,1.1,2.0,3.1\\n")
    >>> data = read_graph(edges="edges.csv", tensor="values.csv")
    >>> data.tensor.shape, data.vertices.tolist()
    ((3, 1, 2), ['a', 'b', 'c'])
    """
    options = TableOptions(layout, columns, None if slice_shape is None else check_slice(slice_shape), times)
    if sum(value is not None for value in (edges, coordinates, distances)) > 1:
        raise ParameterError("the graph is of edges, of coordinates or of distances: give one of the three.")
    if (path is None) == (tensor is None):
        raise ParameterError("give one file of values: an .npz or a table as GRAPH, or --tensor FILE (tensor=).")
    values_file = tensor if path is None else path
    if edges is not None:
        return _join_edges(edges, values_file, options)
    with sources.open_source(values_file, "values, or an .npz of a graph and its values") as source:
        has_source = (coordinates, distances, neighbors) != (None, None, None)
        if not has_source and (source.format in ("npz", "npy") or str(source.name).lower().endswith(".npz")):
            return _read_archive(source, options)
        ids, graph_of, name = _graph_source(coordinates, distances, neighbors)
        values = _read_values(source, None, ids, options)
        if values.ids is not None and ids is not None:
            _warn_of_absent(name, ids, values.ids, source.name)
        return options.graph_tensor(graph_of(values).adjacency, values, values.ids)


class TableOptions(NamedTuple):
    """Options of the layout of values: layout, columns, slice_shape, times file."""

    layout: str | None
    columns: object
    slice_shape: tuple | None
    times: object = None

    def with_times(self, values, path):
        """Return Values of a file with the times of either file, validated.

        Raises ParameterError if both have times.
        """
        if self.times is None:
            return values
        if values.times is not None:
            raise ParameterError(f"{path} has times of its own: leave times (--times) out.")
        times, has_offset = read_times(self.times)
        return values._replace(times=times, has_offset=has_offset)

    def graph_tensor(self, graph, values, vertices, truth=None):
        """Return the GraphTensor of a graph and Values."""
        numbers, mask, _, times, types, has_offset = values
        data = as_graph_tensor(graph, numbers, mask, vertices, truth, self.slice_shape, times, types)
        return data._replace(has_offset=has_offset)


def _graph_source(coordinates, distances, neighbors):
    """Return (labels or None, function of Values that returns their Graph, name) of a file, or of the series.

    The file is read once, because it may be a pipe.
    """

    def vertices(values):
        return np.arange(len(values.values)) if values.ids is None else values.ids

    def graph_by_coordinates(values):
        return graph_builders.knn_graph(graph_builders.select(coordinates, vertices(values)), neighbors)

    if coordinates is not None:
        if not isinstance(coordinates, graph_builders.Coordinates):
            coordinates = graph_builders.read_coordinates(coordinates)
        return coordinates.ids, graph_by_coordinates, coordinates.source
    if distances is None:
        return None, lambda values: _graph_of_series(values, neighbors), ""
    frame, make = graph_builders.read_distances(distances), graph_builders.graph_from_distances
    known = graph_builders.pairs_of(frame, None)[-1]
    return known, lambda values: make(frame, neighbors, vertices(values)), str(distances)


def _graph_of_series(values, neighbors):
    """Return the Graph of the most correlated series of Values."""
    original = numbers(values.values, "the tensor")
    whole = to_slices(original)
    series = np.where(observed_mask(whole, values.mask, original.shape), whole, np.nan)
    return graph_builders.graph_from_series(series, neighbors)


def _warn_of_absent(name, ids, present, path):
    """Warn of labels in a file that the values lack; the graph is made without them."""
    known = set(map(str, present))
    absent = [label for label in map(str, ids) if label not in known]
    if absent:
        warnings.warn(
            f"{name} names {list_names(absent, quote)}, which {path} does not have: left out. An empty column (or row) "
            "of that name is filled in.",
            stacklevel=3,
        )


def _read_archive(source, options):
    """Return the GraphTensor of an archive with graph and values."""
    if options.layout is not None or options.columns is not None:
        raise ParameterError("layout is for a table of values (columns too), not for an .npz with its graph.")
    arrays, values = _read_npz(source, GRAPH, f"Needed: {NEEDED}")
    values = options.with_times(values, source.name)
    return options.graph_tensor(_graph(arrays, source.name), values, values.ids, arrays.get("truth"))


def _read_npz(source, more, needed):
    """Return ({name: array}, Values) of an .npz; DataError without values, whose message ends in `needed`.

    Arrays named in `more` are read too; of others the names are kept.
    """
    arrays = _read_arrays(source, {"tensor", *OPTIONAL, *more})
    if "tensor" not in arrays:
        raise DataError(f"{source.name} has no array named tensor. Found: {', '.join(arrays) or 'nothing'}. {needed}.")
    times = check_times(arrays.get("times"), source.name)
    return arrays, Values(arrays["tensor"], arrays.get("mask"), arrays.get("vertices"), times)


def read_edges(path):
    """Return (graph, ids (N,) or None) of a file, a pipe or a Graph.

    Files: text (see read_graph_text), .npz (NEEDED has the keys) or .npy. graph: in a form that as_adjacency takes; an
    edge list from .npz or .npy does not determine the number of vertices.
    """
    if isinstance(path, Graph):
        return path.adjacency, path.vertices
    with sources.open_source(path, EDGES) as source:
        if source.format == "npz":
            arrays = _read_arrays(source, {*GRAPH, "vertices"})
            return _graph(arrays, source.name), arrays.get("vertices")
        if source.format == "npy":
            return archives.read_npy(source), None
        return read_graph_text(source)


def _join_edges(edges, values_file, options):
    """Return the GraphTensor of a file of edges and one of values."""
    graph, ids = read_edges(edges)
    with sources.open_source(values_file, "the values of the graph's vertices") as source:
        values, path = _read_values(source, graph, ids, options), source.name
    count, names = len(np.atleast_1d(values.values)), values.ids  # a file may hold a single number
    if ids is None and names is not None and are_numbers(np.asarray(names)):
        ids = np.arange(count)
    if ids is None or (len(ids) == count and names is None):
        return options.graph_tensor(graph, values, names if ids is None else ids)
    rows = _match_rows(ids, names, count, path)
    graph = as_adjacency(graph, vertices=len(ids)).tocoo()
    graph = np.column_stack((rows[graph.row], rows[graph.col])), graph.data
    return options.graph_tensor(graph, values, np.arange(count) if names is None else names)


def _read_values(source, graph, ids, options):
    """Return the Values of an open Source.

    graph, ids: None without a graph; ids may hold known labels.
    """
    if source.format == "npy":
        values = Values(archives.read_npy(source))
    elif source.format == "npz":
        arrays, values = _read_npz(source, (), "Optional: mask, vertices, times")
        if (GRAPH - {"weights"}) & arrays.keys():
            raise ParameterError(f"{source.name} brings its graph: leave edges, coordinates and distances out.")
    else:
        count = None if graph is None else _count(graph) if ids is None else len(ids)
        values = read_table(open_table(source), count, ids, options.layout, options.columns)
    if source.format in ("npy", "npz") and options.layout == "columns" and values.values.ndim == 2:
        values = values._replace(values=values.values.T)
    return options.with_times(values, source.name)


def _match_rows(ids, names, count, path):
    """Return the rows of values for an edge list's ids.

    The result is (len(ids),) int64.
    """
    if names is None:
        if ids.dtype.kind in "iu" and ids[0] == 0 and ids[-1] < count:
            return ids.astype(np.int64)
        raise DataError(
            f"{path} has values for {count:,} vertices and no ids, and the edges name {len(ids):,}: which "
            "is whose is not clear. Number the vertices from 0, or give a table with ids."
        )
    rows = {name: row for row, name in enumerate(np.asarray(names).tolist())}
    lacking = [value for value in ids.tolist() if value not in rows]
    if lacking:
        others = f", nor for {len(lacking) - 1:,} others," if len(lacking) > 1 else ""
        raise DataError(
            f"{path} has no values for vertex {lacking[0]!r}{others} of the edges' {len(ids):,}. Give every "
            "vertex its values, nan or an empty column where they are missing."
        )
    return np.array([rows[value] for value in ids.tolist()], dtype=np.int64)


def _count(graph):
    """Return the number of vertices that a graph names."""
    if hasattr(graph, "indptr"):
        return graph.shape[0]
    edges = graph[0] if isinstance(graph, tuple) else graph
    return int(np.max(edges, initial=-1)) + 1 if is_list(graph) else len(edges)


def _graph(arrays, path):
    """Return an archive's graph in a form of as_adjacency; DataError unless there is exactly one."""
    kinds = [name for name in ("adjacency", "edges") if name in arrays]
    prefixes = [prefix for prefix in ("adjacency_", "") if all(prefix + part in arrays for part in PARTS)]
    if len(kinds) + len(prefixes) != 1:
        what = "more than one graph" if kinds or prefixes else "no graph"
        raise DataError(f"{path} has {what}. Found: {', '.join(arrays) or 'nothing'}. Needed: {NEEDED}.")
    if prefixes:
        return _from_parts([arrays[prefixes[0] + part] for part in PARTS], path)
    return arrays["adjacency"] if kinds == ["adjacency"] else (arrays["edges"], arrays.get("weights"))


def _from_parts(parts, path):
    """Return a csr_array of data, indices, indptr and shape; DataError if invalid."""
    from scipy import sparse

    data, indices, indptr, shape = parts
    try:
        trust.check_array("shape", shape, (np.int32, np.int64), (2,))
        trust.check_array("data", data, data.dtype.type, (None,))
        trust.check_compressed("adjacency", indptr, indices, data, tuple(shape.tolist()))
        return sparse.csr_array((data, indices, indptr), shape=tuple(shape.tolist()))
    except (TypeError, ValueError) as error:
        raise DataError(f"{path}: the parts of its adjacency do not make a CSR matrix ({error}).") from error


def _read_arrays(source, wanted):
    """Return {name: array} of an .npz; None for unwanted arrays."""
    if source.format != "npz":
        raise DataError(
            f"{source.name} is no .npz archive of numpy's. A graph and its values in two files are --edges FILE "
            "--tensor FILE; a graph is made of --coordinates or --distances."
        )
    arrays, names = archives.read_npz(source, wanted)
    return {name: arrays.get(name) for name in names}


def write_graph(path: Path, data: GraphTensor) -> None:
    """Write a GraphTensor to an .npz for read_graph.

    Missing values are NaN; the adjacency is stored in its CSR parts. The file is written atomically. Raises
    ParameterError for another suffix, DataError if the path is not writable, or for labels that UTF-8 does not hold.
    """
    check_copy(path)
    data = validate_tensor(data)
    matrix = data.adjacency
    parts = zip(PARTS, (matrix.data, matrix.indices, matrix.indptr, np.array(matrix.shape)))
    arrays = {f"adjacency_{name}": array for name, array in parts}
    arrays["tensor"] = np.where(data.mask if data.mask.ndim == 3 else data.mask[:, None, None], data.tensor, np.nan)
    arrays |= {name: value for name in ("vertices", "truth", "times") if (value := getattr(data, name)) is not None}
    refuse_surrogates("vertices", arrays.get("vertices", np.empty(0)))
    with atomic_open(path) as file:
        np.savez(file, **arrays)


def check_copy(path):
    """Return the suffix .npz of an output path; ParameterError or DataError."""
    return sources.check_copy(path, (".npz",))
