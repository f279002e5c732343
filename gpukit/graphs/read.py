"""read_graph and write_graph: a graph tensor from an .npz, or from a file of edges and one of values (text, Parquet,
.npy)."""

import numpy as np

from gpukit.errors import DataError, ParameterError
from gpukit.graphs.adjacency import as_adjacency
from gpukit.graphs.check import sound
from gpukit.graphs.convert import as_graph_tensor, check_slice, is_list
from gpukit.graphs.table import Values, read_table
from gpukit.graphs.text import read_graph_text
from gpukit.io import archives, container, sources, trust
from gpukit.persist import atomic_write

EDGES = "a list of edges, an adjacency, or an .npz"
PARTS = ("data", "indices", "indptr", "shape")
OPTIONAL = ("mask", "vertices", "truth", "times")
KNOWN = {"tensor", "adjacency", "edges", "weights", *OPTIONAL, *PARTS, *(f"adjacency_{part}" for part in PARTS)}
NEEDED = (
    "tensor (N, m, n), (N, n) or (N,), NaN = missing; and adjacency (N, N), or adjacency_data, "
    "adjacency_indices, adjacency_indptr, adjacency_shape (or these as scipy.sparse.save_npz names them), or "
    "edges (E, 2) [weights (E,)]; optional mask, truth, vertices, times"
)


def read_graph(path=None, *, edges=None, tensor=None, slice_shape=None, layout=None):
    """The GraphTensor in the .npz file `path`, or of a graph in the file `edges` and values in the file `tensor`.

    path: an archive with `tensor` and `adjacency`, or its CSR parts, or `edges` [`weights`]; NEEDED has the keys and
    as_graph_tensor says what they may hold. edges: text or Parquet (see read_graph_text), .npz or .npy. tensor: .npy,
    .npz, text or Parquet (see read_table; layout is for these, and for a .npy of (T, N)). Where both have ids, the
    order is that of the values, and vertices that only they have are isolated. slice_shape: (m, n): slices of rows of
    m n values. Raises DataError for what is missing, damaged, malformed, pickled; ParameterError for a request that is
    not clear.
    """
    if slice_shape is not None:
        slice_shape = check_slice(slice_shape)
    if path is not None and edges is None and tensor is None:
        if layout is not None:
            raise ParameterError("layout is for a table of values beside a file of edges, not for an .npz.")
        with sources.opened(path, "an .npz of a graph and its values") as source:
            found, path = _arrays(source), source.name
        if "tensor" not in found:
            raise DataError(f"{path} has no array named tensor. Found: {_listed(found)}. Needed: {NEEDED}.")
        graph = _graph(found, path)
        optional = {name: found.get(name) for name in OPTIONAL}
        return as_graph_tensor(graph, found["tensor"], slice_shape=slice_shape, **optional)
    if path is not None or edges is None or tensor is None:
        raise ParameterError("give one .npz file, or a file of edges and one of values: --edges FILE --tensor FILE.")
    return _beside(edges, tensor, slice_shape, layout)


def read_edges(path):
    """(graph, ids (N,) or None) of a file or a pipe: text (see read_graph_text), .npz (NEEDED has the keys) or .npy.

    graph: in a form that as_adjacency takes; a list of edges from .npz or .npy does not say how many vertices it has.
    """
    with sources.opened(path, EDGES) as source:
        if source.holds_arrays():
            found = _arrays(source)
            return _graph(found, source.name), found.get("vertices")
        if source.head.startswith(archives.NPY):
            return archives.read_npy(source), None
        return read_graph_text(source)


def _beside(edges, tensor, slice_shape, layout):
    """The GraphTensor of two files."""
    graph, ids = read_edges(edges)
    with sources.opened(tensor, "the values of the graph's vertices") as source:
        tensor, (values, mask, names, times) = source.name, _values(source, graph, ids, slice_shape, layout)
    also = {"mask": mask, "slice_shape": slice_shape, "times": times}
    if ids is None or len(ids) == len(values) and names is None:
        return as_graph_tensor(graph, values, vertices=names if ids is None else ids, **also)
    places = _places(ids, names, len(values), tensor)
    graph = as_adjacency(graph, vertices=len(ids)).tocoo()
    moved = np.column_stack((places[graph.row], places[graph.col]))
    names = np.arange(len(values)) if names is None else names
    return as_graph_tensor((moved, graph.data), values, vertices=names, **also)


def _values(source, graph, ids, slice_shape, layout):
    """The Values of an open Source."""
    if source.head.startswith(archives.NPY):
        return Values(_turned(archives.read_npy(source), layout))
    if source.holds_arrays():
        found = _arrays(source)
        if "tensor" not in found:
            raise DataError(
                f"{source.name} has no array named tensor. Found: {_listed(found)}. Optional: mask, vertices, times."
            )
        optional = (found.get(name) for name in ("mask", "vertices", "times"))
        return Values(_turned(found["tensor"], layout), *optional)
    count = len(ids) if ids is not None else _count(graph)
    length = None if slice_shape is None else slice_shape[0] * slice_shape[1]
    return read_table(source, count, ids, layout, length)


def _places(ids, names, count, path):
    """(len(ids),) int64: the rows of the values that the ids of a list of edges stand for."""
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
            f"edges' {len(ids):,}. Give every vertex its values, nan where they are missing."
        )
    return np.array([rows[one] for one in ids.tolist()], dtype=np.int64)


def _count(graph):
    """The number of vertices that a graph names."""
    if hasattr(graph, "indptr"):
        return graph.shape[0]
    edges = graph[0] if isinstance(graph, tuple) else graph
    return int(np.max(edges, initial=-1)) + 1 if is_list(graph) else len(edges)


def _turned(array, layout):
    """A tensor from a file; a table of two axes with a column a vertex is turned."""
    if layout == "columns" and array.ndim == 2:
        return array.T
    return array


def _graph(found, path):
    """The graph in the arrays of an archive, in a form that as_adjacency takes."""
    kinds = [name for name in ("adjacency", "edges") if name in found]
    csr = [prefix for prefix in ("adjacency_", "") if all(prefix + part in found for part in PARTS)]
    if len(kinds) + len(csr) != 1:
        what = "more than one graph" if kinds or csr else "no graph"
        raise DataError(f"{path} has {what}. Found: {_listed(found)}. Needed: {NEEDED}.")
    if csr:
        return _from_parts([found[csr[0] + part] for part in PARTS], path)
    return found["adjacency"] if kinds == ["adjacency"] else (found["edges"], found.get("weights"))


def _from_parts(parts, path):
    """A csr_array of its data, indices, indptr and shape; DataError when they do not fit."""
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


def _arrays(source):
    """{name: array} of an .npz in an open Source; one that is none of a graph's is not read, and None."""
    if not source.holds_arrays():
        raise DataError(
            f"{source.name} is no .npz archive of numpy's. A graph and its values in two files are --edges FILE "
            "--tensor FILE."
        )
    found, names = archives.read_npz(source, KNOWN)
    return {name: found.get(name) for name in names}


def write_graph(path, data):
    """Write a GraphTensor to an .npz that read_graph reads: missing values as NaN, the adjacency in its CSR parts.

    The file appears whole or not at all. Raises ParameterError for another suffix, DataError for a path that cannot be
    written.
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
    """The suffix .npz of a path that can be written; ParameterError or DataError for one that it cannot."""
    return container.check_copy(path, (".npz",))
