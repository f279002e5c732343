"""Read and write graph tensors, in one file or two.

Files of edges and values are text, Parquet or .npy.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from gpukit.errors import DataError, ParameterError
from gpukit.graphs.adjacency import as_adjacency
from gpukit.graphs.check import sound
from gpukit.graphs.convert import as_graph_tensor, check_slice, is_list, numbers, observed, sliced
from gpukit.graphs.labels import listed
from gpukit.graphs.moments import check_times, read_times
from gpukit.graphs.near.coordinates import Coordinates, chosen, graph_from_coordinates, read_coordinates
from gpukit.graphs.near.distances import graph_from_distances, read_distances
from gpukit.graphs.near.series import graph_from_series
from gpukit.graphs.table import Values, read_table
from gpukit.graphs.tensor import Graph
from gpukit.graphs.text import read_graph_text
from gpukit.io import archives, container, sources, trust
from gpukit.io.sheet import open_table
from gpukit.io.words import shown
from gpukit.persist import atomic_write

if TYPE_CHECKING:
    from collections.abc import Sequence

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
    """Read a GraphTensor from one .npz, or from values and a graph.

    Parameters
    ----------
    path : str or None
        An archive with `tensor` and `adjacency`, or its CSR parts, or `edges` [`weights`]; NEEDED has the keys, and
        as_graph_tensor their contents. Or a file of values, as `tensor`.
    edges : str or None
        Text or Parquet (see read_graph_text), .npz or .npy.
    tensor : str or None
        .npy, .npz, text or Parquet: a wide table (see read_table) or a long one. If values and edges have ids, the
        order is that of the values (for a long table that of the graph), and vertices that only they have are isolated.
    slice_shape : (m, n) or None
        Slices of rows of m n values.
    layout : 'rows', 'columns', 'long' or None
        What a vertex is in a table, also in a .npy of (T, N); 'long' has one reading per line.
    columns
        Roles of the columns, see columns.asked.
    coordinates, distances, neighbors
        Without edges, the graph joins the nearest vertices by the file coordinates (or near/coordinates.py's
        Coordinates) or the file distances, `neighbors` of each; or, without these, by correlation of the values.
    times : str or None
        A file with the times of the columns, one per line or .npy, if the values' file has none (see read_times).

    Raises DataError for missing, damaged, malformed or pickled content; ParameterError for an ambiguous request.
    """
    slice_shape = None if slice_shape is None else check_slice(slice_shape)
    lies = Lies(layout, columns, slice_shape, times)
    if sum(one is not None for one in (edges, coordinates, distances)) > 1:
        raise ParameterError("the graph is of edges, of coordinates or of distances: give one of the three.")
    if (path is None) == (tensor is None):
        raise ParameterError("give one file of values: an .npz or a table as GRAPH, or --tensor FILE (tensor=).")
    if edges is not None:
        return _beside(edges, tensor if path is None else path, lies)
    with sources.opened(tensor if path is None else path, "values, or an .npz of a graph and its values") as source:
        made = (coordinates, distances, neighbors) != (None, None, None)
        if not made and (source.format == "npz" or _is_array(source)):
            return _whole(_arrays(source, {"tensor", *GRAPH, *OPTIONAL}, _check_whole), source.name, lies)
        near = near_of(coordinates, distances, neighbors)
        ids = near.ids()
        found = _values(source, None, ids, lies)
        if found.ids is not None and ids is not None:
            near.warn_of_absent(ids, found.ids, source.name)
        return _made(found._replace(times=lies.times_of(found.times, source.name)), near, lies)


class Lies(NamedTuple):
    """Options of the layout of values: layout, columns, slice_shape, times file."""

    layout: str | None
    columns: object
    slice_shape: tuple | None
    times: object = None

    def times_of(self, own, path):
        """Return the times of either file, validated.

        Raises ParameterError if both have times.
        """
        if self.times is None:
            return own
        if own is not None:
            raise ParameterError(f"{path} has times of its own: leave times (--times) out.")
        return read_times(self.times)


class Near(NamedTuple):
    """Source of a graph without edges.

    coordinates: Coordinates, or distances: frame of a file, or neither; neighbors of each vertex, or None; source: the
    file's name.
    """

    coordinates: Coordinates | None = None
    distances: object = None
    neighbors: int | None = None
    source: str = ""

    def ids(self):
        """Return the labels in the file of coordinates or distances, or None."""
        if self.coordinates is not None:
            return self.coordinates.ids
        return None if self.distances is None else graph_from_distances(self.distances).vertices

    def graph_of(self, values, ids, mask=None):
        """Return the Graph of the vertices of values (N, ...).

        Missing values are NaN or masked; ids (N,) or None.
        """
        known = np.arange(len(values)) if ids is None else ids
        if self.coordinates is not None:
            return graph_from_coordinates(chosen(self.coordinates, known), self.neighbors)._replace(vertices=ids)
        if self.distances is not None:
            return graph_from_distances(self.distances, self.neighbors, known)._replace(vertices=ids)
        given = numbers(values, "the tensor")
        whole = sliced(given)
        return graph_from_series(np.where(observed(whole, mask, given.shape), whole, np.nan), self.neighbors, ids)

    def warn_of_absent(self, ids, names, path):
        """Warn of the file's labels that the values lack.

        The graph is made without them.
        """
        there = set(map(str, names))
        absent = [name for name in map(str, ids) if name not in there]
        if absent:
            warnings.warn(
                f"{self.source} names {listed(absent, shown)}, which {path} does not have: left "
                "out. An empty column (or row) of that name is filled in.",
                stacklevel=2,
            )


def near_of(coordinates, distances, neighbors):
    """Return the Near of coordinates (a file, or Coordinates), distances or neither.

    The file is read once, because it may be a pipe.
    """
    if coordinates is not None:
        found = coordinates if isinstance(coordinates, Coordinates) else read_coordinates(coordinates)
        return Near(found, None, neighbors, found.source)
    if distances is not None:
        return Near(None, read_distances(distances), neighbors, str(distances))
    return Near(neighbors=neighbors)


def _whole(found, path, lies):
    """Return the GraphTensor of an archive with graph and values."""
    if lies.layout is not None or lies.columns is not None:
        raise ParameterError("layout is for a table of values (columns too), not for an .npz with its graph.")
    optional = {name: found.get(name) for name in OPTIONAL}
    optional["times"] = lies.times_of(check_times(optional["times"], path), path)
    return as_graph_tensor(_graph(found, path), found["tensor"], slice_shape=lies.slice_shape, **optional)


def _made(found, near, lies):
    """Return the GraphTensor of Values, with a graph made by Near."""
    graph = near.graph_of(found.values, found.ids, found.mask)
    also = {"mask": found.mask, "slice_shape": lies.slice_shape, "times": found.times, "types": found.types}
    return as_graph_tensor(graph.adjacency, found.values, vertices=graph.vertices, **also)


def read_edges(path):
    """Return (graph, ids (N,) or None) of a file, a pipe or a Graph.

    Files: text (see read_graph_text), .npz (NEEDED has the keys) or .npy. graph: in a form that as_adjacency takes; an
    edge list from .npz or .npy does not determine the number of vertices.
    """
    if isinstance(path, Graph):
        return path.adjacency, path.vertices
    with sources.opened(path, EDGES) as source:
        if source.format == "npz":
            found = _arrays(source, {*GRAPH, "vertices"}, _check_graph)
            return _graph(found, source.name), found.get("vertices")
        if source.format == "npy":
            return archives.read_npy(source), None
        return read_graph_text(source)


def _beside(edges, tensor, lies):
    """Return the GraphTensor of two files."""
    graph, ids = read_edges(edges)
    with sources.opened(tensor, "the values of the graph's vertices") as source:
        tensor, (values, mask, names, times, types) = source.name, _values(source, graph, ids, lies)
        times = lies.times_of(times, tensor)
    also = {"mask": mask, "slice_shape": lies.slice_shape, "times": times, "types": types}
    if ids is None or len(ids) == len(values) and names is None:
        return as_graph_tensor(graph, values, vertices=names if ids is None else ids, **also)
    places = _places(ids, names, len(values), tensor)
    graph = as_adjacency(graph, vertices=len(ids)).tocoo()
    moved = np.column_stack((places[graph.row], places[graph.col]))
    names = np.arange(len(values)) if names is None else names
    return as_graph_tensor((moved, graph.data), values, vertices=names, **also)


def _values(source, graph, ids, lies):
    """Return the Values of an open Source.

    graph, ids: None without a graph; ids may hold known labels.
    """
    if source.format == "npy":
        return Values(_turned(archives.read_npy(source), lies.layout))
    if source.format == "npz":
        found = _arrays(source, {"tensor", *OPTIONAL}, _check_values)
        times = check_times(found.get("times"), source.name)
        return Values(_turned(found["tensor"], lies.layout), found.get("mask"), found.get("vertices"), times)
    count = None if graph is None else _count(graph) if ids is None else len(ids)
    return read_table(open_table(source), count, ids, lies.layout, lies.columns)


def _places(ids, names, count, path):
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
    lacking = [one for one in ids.tolist() if one not in rows]
    if lacking:
        raise DataError(
            f"{path} has no values for vertex {lacking[0]!r}, nor for {len(lacking) - 1:,} others, of the "
            f"edges' {len(ids):,}. Give every vertex its values, nan or an empty column where they are missing."
        )
    return np.array([rows[one] for one in ids.tolist()], dtype=np.int64)


def _count(graph):
    """Return the number of vertices that a graph names."""
    if hasattr(graph, "indptr"):
        return graph.shape[0]
    edges = graph[0] if isinstance(graph, tuple) else graph
    return int(np.max(edges, initial=-1)) + 1 if is_list(graph) else len(edges)


def _is_array(source):
    """Return True for a .npy, or an .npz by its name."""
    return source.format == "npy" or str(source.name).lower().endswith(".npz")


def _turned(array, layout):
    """Return a tensor of a file, transposed if its columns are vertices."""
    return array.T if layout == "columns" and array.ndim == 2 else array


def _check_whole(path, headers, read):
    """Raise DataError unless headers are those of a graph with values.

    Names, dtypes and shapes of arrays are checked; see read_npz.
    """
    _check_tensor(path, headers, f"Needed: {NEEDED}")
    count = _check_graph(path, headers, read)
    shape = headers["tensor"].shape
    if count is not None and shape[0] != count:
        raise DataError(
            f"{path}: the tensor has {shape[0]:,} slices (its shape is {shape}), but the graph has {count:,} vertices. "
            "The first axis of the tensor is that of the vertices."
        )


def _check_values(path, headers, read):
    """Raise DataError unless headers are those of values without a graph.

    See read_npz.
    """
    _check_tensor(path, headers, "Optional: mask, vertices, times")
    if (GRAPH - {"weights"}) & set(headers):
        raise ParameterError(f"{path} brings its graph: leave edges, coordinates and distances out.")


def _check_tensor(path, headers, needed):
    """Raise DataError unless there is a numeric tensor and nothing larger."""
    if "tensor" not in headers:
        raise DataError(f"{path} has no array named tensor. Found: {_listed(headers)}. {needed}.")
    tensor = headers["tensor"]
    archives.check_header(path, headers, "tensor", "biuf", (None,) * max(1, len(tensor.shape)))
    for name in OPTIONAL:
        archives.check_size(path, headers, name, tensor.size, "in the tensor")


def _check_graph(path, headers, read):
    """Return the vertex count of an archive's graph, None if unknown.

    Raises DataError if names, dtypes or shapes are not those of a graph.
    """
    form = _form(headers, path)
    shape = headers[form].shape if form in headers else ()
    if form == "edges" or (len(shape) == 2 and shape[1] == 2 != shape[0]):  # a list of edges under either name
        archives.check_header(path, headers, form, "biuf", (None, 2))
        archives.check_header(path, headers, "weights", "biuf", shape[:1])
        return None
    if form == "adjacency":
        count = shape[0] if shape else None
        archives.check_header(path, headers, "adjacency", "biuf", (count, count))
    else:
        count = _check_parts(path, headers, form, read)
    archives.check_header(path, headers, "vertices", "iuU", (count,))
    return count


def _check_parts(path, headers, prefix, read):
    """Return the vertex count of CSR parts; DataError for wrong Headers."""
    data, indices, indptr, shape = (prefix + part for part in PARTS)
    try:
        archives.check_header(path, headers, shape, "iu", (2,))
        count = int(read(shape)[0])
        archives.check_header(path, headers, data, "biuf", (None,))
        archives.check_header(path, headers, indices, "iu", headers[data].shape)
        archives.check_header(path, headers, indptr, "iu", (count + 1,))
    except DataError as error:
        raise DataError(f"{error} The parts of its adjacency do not make a CSR matrix.") from error
    return count


def _form(found, path):
    """Return the form of an archive's graph: 'adjacency', 'edges' or a prefix.

    A prefix is that of the names of CSR parts. Raises DataError unless there is exactly one graph.
    """
    kinds = [name for name in ("adjacency", "edges") if name in found]
    csr = [prefix for prefix in ("adjacency_", "") if all(prefix + part in found for part in PARTS)]
    if len(kinds) + len(csr) != 1:
        what = "more than one graph" if kinds or csr else "no graph"
        raise DataError(f"{path} has {what}. Found: {_listed(found)}. Needed: {NEEDED}.")
    return (kinds + csr)[0]


def _graph(found, path):
    """Return an archive's graph in a form of as_adjacency."""
    form = _form(found, path)
    if form == "edges":
        return found["edges"], found.get("weights")
    return found["adjacency"] if form == "adjacency" else _from_parts([found[form + part] for part in PARTS], path)


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


def _listed(found):
    return ", ".join(found) or "nothing"


def _arrays(source, wanted, check):
    """Return {name: array} of an .npz; None for unwanted arrays.

    check: function of the name and the Headers, as in read_npz.
    """
    if source.format != "npz":
        raise DataError(
            f"{source.name} is no .npz archive of numpy's. A graph and its values in two files are --edges FILE "
            "--tensor FILE; a graph is made of --coordinates or --distances."
        )
    found, names = archives.read_npz(source, wanted, lambda *declared: check(source.name, *declared))
    return {name: found.get(name) for name in names}


def write_graph(path: Path, data: GraphTensor) -> None:
    """Write a GraphTensor to an .npz for read_graph.

    Missing values are NaN; the adjacency is stored in its CSR parts. The file is written atomically. Raises
    ParameterError for another suffix, DataError if the path is not writable.
    """
    check_copy(path)
    data = sound(data)
    matrix = data.adjacency
    parts = zip(PARTS, (matrix.data, matrix.indices, matrix.indptr, np.array(matrix.shape)))
    arrays = {f"adjacency_{name}": array for name, array in parts}
    arrays["tensor"] = np.where(data.mask if data.mask.ndim == 3 else data.mask[:, None, None], data.tensor, np.nan)
    arrays |= {name: value for name in ("vertices", "truth", "times") if (value := getattr(data, name)) is not None}
    with atomic_write(path) as aside, open(aside, "wb") as file:
        np.savez(file, **arrays)


def check_copy(path):
    """Return the suffix .npz of an output path; ParameterError or DataError."""
    return container.check_copy(path, (".npz",))
