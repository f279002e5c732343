"""Convert graphs to one validated sparse adjacency; its two Laplacians; labels of vertices and data frames."""

import sys

import numpy as np

from gpukit.base.arrays import as_array, axes
from gpukit.errors import DataError
from gpukit.graphs.tensor import Graph
from gpukit.io import trust
from gpukit.io.arrays import is_frame
from gpukit.io.words import refuse_repeated


def vertices_of_graph(graph):
    """Return vertex ids (N,), int64 or str, of a graph, or None.

    graph: a networkx graph, a square DataFrame or a Graph. Ids are text unless all vertices are whole numbers. Rows of
    a frame with a default index have none.
    """
    if isinstance(graph, Graph):
        return graph.vertices
    networkx = sys.modules.get("networkx")
    if networkx is not None and isinstance(graph, networkx.Graph):
        return _ids(list(graph.nodes))
    if is_frame(graph) and graph.shape[0] == graph.shape[1] and not is_default_index(graph.columns):
        return _ids(list(graph.index))
    return None


def square(frame):
    """Return the adjacency (N, N) of a square DataFrame.

    Columns are put in the order of the rows. Raises DataError if labels differ.
    """
    if is_default_index(frame.index) or is_default_index(frame.columns) or len(frame.index) != len(frame.columns):
        return frame.to_numpy()
    rows, columns = list(map(str, frame.index)), list(map(str, frame.columns))
    if len(set(rows)) < len(rows):
        raise DataError("the adjacency names a vertex twice among its rows; labels must differ.")
    return frame.to_numpy()[:, positions_of(rows, columns, "the adjacency's columns", "row")]


def positions_of(expected, ids, what, label):
    """Return the positions of the expected labels [str] among ids [str].

    Raises DataError with the labels that only one side has; what: names the ids in it, label: names what has them.
    """
    places, theirs = {name: place for place, name in enumerate(ids)}, set(expected)
    strange = [name for name in ids if name not in theirs]
    lacking = [name for name in expected if name not in places]
    if not strange and not lacking:
        refuse_repeated(ids, f"{what} have the label")
        return [places[name] for name in expected]
    parts = []
    if strange:
        parts.append(f"{list_names(strange)} {'is' if len(strange) == 1 else 'are'} no {label} of the graph")
    if lacking:
        parts.append(f"{list_names(lacking)} {'is' if len(lacking) == 1 else 'are'} not among them")
    raise DataError(
        f"the labels of {what} are not those of the graph: {'; '.join(parts)}. Rename them, leave out what the graph "
        "has not, or hand over plain arrays."
    )


def list_names(names, form=repr):
    """Return the first three names of a list and the number of the others, for a message."""
    more = f" and {len(names) - 3:,} others" if names[3:] else ""
    return ", ".join(map(form, names[:3])) + more


def is_default_index(index):
    """Return True for pandas' default labels 0, 1, 2, ..."""
    return index.dtype.kind in "iu" and type(index).__name__ == "RangeIndex" and index.start == 0 and index.step == 1


def are_numbers(ids):
    """Return True for labels (N,) that are 0 to N-1 in any order: the numbers of vertices without labels."""
    return ids.dtype.kind in "iu" and bool((np.sort(ids) == np.arange(len(ids))).all())


def _ids(names):
    whole = all(isinstance(name, (int, np.integer)) and not isinstance(name, bool) for name in names)
    return np.array(names, dtype=np.int64) if whole else np.array(list(map(str, names)))


FORMS = (
    "a square array or scipy sparse matrix, a networkx graph, an (E, 2) array of edges between the vertices "
    "0 to N-1, or a pair (edges, weights)"
)
ROUNDING = 1e-6  # relative; smaller differences between weights of an edge are rounding


def as_adjacency(graph, vertices=None, names=None):
    """Return the adjacency of an undirected graph.

    Parameters
    ----------
    graph : array, sparse matrix, DataFrame, networkx graph, Graph or edge list
        A square array (or nested list) or scipy sparse matrix. A DataFrame, whose columns are put in the order of its
        rows if both have labels. A networkx graph with its own order of vertices; edges without a weight have 1. A
        Graph. An (E, 2) array of edges between vertices 0 to N-1. A tuple (edges, weights), weights (E,) or None. A 2 x
        2 array is an adjacency; pass two edges as (edges, None).
    vertices : int or None
        N of an edge list whose last vertices have no edge; None is the largest vertex + 1.
    names : (N,) or None
        Names of vertices in messages; None for their numbers.

    Returns
    -------
    scipy.sparse csr (N, N) float64
        Symmetric, without diagonal or stored zeros.

    A weight of 0 is no edge. Self-loops carry no information on neighbours and are dropped. An edge may occur once, in
    either direction, or several times with the same weight, as in lists with both directions. Isolated vertices are
    allowed. Raises DataError for a matrix that is not square or not symmetric (beyond rounding, 1e-6 relative; the mean
    of both is taken), for negative or infinite weights, and for several vertices without edges.
    """
    from scipy import sparse

    if isinstance(graph, Graph):
        graph = graph.adjacency
    if is_frame(graph):
        graph = square(graph)
    result = _from_networkx(graph)
    if result is None and sparse.issparse(graph):
        trust.check_sparse("the adjacency", graph)
        result = _square(graph)
    if result is None and isinstance(graph, tuple) and len(graph) == 2 and axes(graph[0]) == 2:
        return _from_edges(graph[0], graph[1], vertices, names)
    if result is None:
        array = _numbers(graph, "the graph")
        if array.ndim == 2 and array.shape[1] == 2 and array.shape[0] != 2:
            return _from_edges(array, None, vertices, names)
        result = _square(array)
    return _symmetric(_clean_entries(result, names), names)


def _name_of(vertex, names):
    """Return a vertex's name for messages; names may be too short."""
    return vertex if names is None or vertex >= len(names) else names[vertex]


def laplacian(adjacency):
    """Return the combinatorial Laplacian D - A, csr (N, N) float64.

    D: row sums of the validated adjacency A.
    """
    from scipy import sparse

    return (sparse.diags_array(degrees(adjacency)) - sparse.csr_array(adjacency)).tocsr()


def normalized_laplacian(adjacency):
    """Return L = I - D^-1/2 A D^-1/2 of a validated adjacency.

    csr (N, N) float64, exactly symmetric, eigenvalues 0 to 2. The row of an isolated vertex is zero, its diagonal too
    (an eigenvalue 0): the convention of Chung, "Spectral Graph Theory" (1997), of scipy.sparse.csgraph and of networkx.
    """
    from scipy import sparse

    degree = degrees(adjacency)
    smooth = normalized_adjacency(adjacency)
    return (sparse.diags_array((degree > 0).astype(np.float64)) - smooth).tocsr()


def normalized_adjacency(adjacency):
    """Return D^-1/2 A D^-1/2 of a validated adjacency, csr (N, N) float64.

    Rows of isolated vertices are empty.
    """
    from scipy import sparse

    degree = degrees(adjacency)
    root = np.sqrt(np.where(degree > 0, degree, 1.0))
    edges = sparse.coo_array(adjacency)
    weights = edges.data / (root[edges.row] * root[edges.col])  # one rounding for both directions
    return sparse.csr_array((weights, (edges.row, edges.col)), shape=edges.shape)


def degrees(adjacency):
    """Return the row sums, (N,) float64."""
    return np.asarray(adjacency.sum(axis=1), dtype=np.float64).ravel()


def _from_networkx(graph):
    """Return the (N, N) adjacency of a networkx graph, else None.

    networkx is never imported here.
    """
    networkx = sys.modules.get("networkx")
    if networkx is None or not isinstance(graph, networkx.Graph):
        return None
    if not len(graph):
        raise DataError("the graph has no vertices.")
    try:
        return networkx.to_scipy_sparse_array(graph, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"the weight of an edge of the graph is not a number ({error}).") from error


def _numbers(values, what):
    """Return an array of real numbers or booleans; DataError for other types."""
    array = as_array(values, what)
    if array.dtype.kind not in "biuf":
        raise DataError(f"{what} holds {array.dtype}, not numbers; give {FORMS}.")
    return array


def _square(matrix):
    """Return a non-empty square matrix of real numbers, or raise DataError."""
    shape = matrix.shape
    if len(shape) != 2 or shape[0] != shape[1]:
        raise DataError(f"the adjacency must be square; its shape is {shape}. A graph is {FORMS}.")
    if not shape[0]:
        raise DataError("the graph has no vertices.")
    if matrix.dtype.kind not in "biuf":
        raise DataError(f"the adjacency holds {matrix.dtype}; weights are real numbers.")
    return matrix


def _clean_entries(matrix, names):
    """Return the positive off-diagonal entries as a new csr float64.

    Raises DataError for invalid weights and for a graph without edges.
    """
    from scipy import sparse

    if matrix.dtype == np.float16:  # not supported by scipy
        matrix = matrix.astype(np.float64)
    entries = sparse.coo_array(matrix, dtype=np.float64)
    wrong = ~((entries.data >= 0) & np.isfinite(entries.data))
    if wrong.any():
        index = int(np.argmax(wrong))
        i, j = _name_of(entries.row[index], names), _name_of(entries.col[index], names)
        raise DataError(
            f"the weight between vertices {i} and {j} is {entries.data[index]:g}; weights must be finite and "
            "not negative. Drop the edge, or give a weight that grows with likeness."
        )
    is_kept = (entries.data > 0) & (entries.row != entries.col)
    if not is_kept.any() and entries.shape[0] != 1:
        loops = bool((entries.data > 0).any())
        raise DataError(
            "the graph has no edges but self-loops, which say nothing about neighbours."
            if loops
            else "the graph has no edges: nothing says which vertices are alike."
        )
    return sparse.csr_array((entries.data[is_kept], (entries.row[is_kept], entries.col[is_kept])), shape=entries.shape)


def _symmetric(matrix, names):
    """Return matrix exactly symmetric and canonical.

    Raises DataError with the first pair of different weights.
    """
    from scipy import sparse

    other = matrix.T.tocsr()
    difference = abs(matrix - other)
    excess = sparse.csr_array(difference - ROUNDING * matrix.maximum(other)).tocoo()
    wrong = excess.data > 0
    if wrong.any():
        pairs = np.column_stack((excess.row, excess.col))[wrong]
        i, j = pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))[0]].tolist()
        one, other = _name_of(i, names), _name_of(j, names)
        raise DataError(
            f"the adjacency is not symmetric: the weight from vertex {one} to {other} is {matrix[i, j]:g}, "
            f"from {other} to {one} it is {matrix[j, i]:g}. Make it so, by (A + A.T) / 2 if that is meant."
        )
    return _canonical((matrix / 2 + other / 2).tocsr() if difference.nnz else matrix, names)


def _canonical(matrix, names):
    """Return matrix with sorted indices and summed duplicates.

    Raises DataError for a vertex whose weights overflow float64.
    """
    margin = 4.0  # safety factor against overflow: eigenvalues of the Laplacian reach twice the degree
    matrix.sum_duplicates()  # and sorts
    with np.errstate(over="ignore"):
        wrong = ~np.isfinite(margin * degrees(matrix))
    if wrong.any():
        index = _name_of(int(np.argmax(wrong)), names)
        raise DataError(
            f"the weights of vertex {index} add up to more than float64 holds; divide all by their largest."
        )
    return matrix


def _from_edges(edges, weights, vertices, names):
    """Return the adjacency of edges (E, 2) with weights (E,), None for 1 each."""
    from scipy import sparse

    edges = _vertices(_numbers(edges, "the list of edges"))
    weights = np.ones(len(edges)) if weights is None else _numbers(weights, "the weights of the edges")
    if weights.shape != (len(edges),):
        raise DataError(
            f"there are {len(edges):,} edges, but the weights have the shape {weights.shape}; give one an edge."
        )
    largest = int(edges.max()) if len(edges) else -1
    size = largest + 1 if vertices is None else int(vertices)
    if largest >= size:
        raise DataError(f"an edge names vertex {largest}, but the vertices are 0 to {size - 1}.")
    low, high = edges.min(axis=1), edges.max(axis=1)
    weights = weights.astype(np.float64)
    first = first_occurrences(low, high, weights, names, "edge between", "weight")
    low, high, weights = low[first], high[first], weights[first]
    ends = np.concatenate((low, high)), np.concatenate((high, low))
    both = sparse.coo_array((np.concatenate((weights, weights)), ends), shape=(size, size))
    return _canonical(_clean_entries(both, names), names)


def _vertices(edges):
    """Return an edge list as (E, 2) int64; DataError for invalid vertex numbers."""
    most_vertices = 2**31 - 1  # indices are int32
    if edges.ndim != 2 or edges.shape[1] != 2:
        raise DataError(f"a list of edges has the shape (E, 2); this one has {edges.shape}.")
    wrong = ~((edges >= 0) & (edges < most_vertices) & (edges == np.floor(edges)))
    if wrong.any():
        index = int(np.argmax(wrong.any(axis=1)))
        raise DataError(
            f"edge {index} is {edges[index].tolist()}; the ends of edges are the numbers of vertices, 0 to N-1."
        )
    return edges.astype(np.int64)


def first_occurrences(low, high, numbers, names, what, number):
    """Return the index of the first occurrence of each pair (low, high).

    Raises DataError if a later one has another number. what, number: names of both in the message.
    """
    order = np.lexsort((high, low))
    same = (np.diff(low[order]) == 0) & (np.diff(high[order]) == 0)
    differs = same & (np.abs(np.diff(numbers[order])) > ROUNDING * np.abs(numbers[order][1:]))
    if differs.any():
        one, other = order[np.argmax(differs) :][:2]
        i, j = _name_of(low[one], names), _name_of(high[one], names)
        raise DataError(
            f"the {what} vertices {i} and {j} has the {number} {numbers[one]:g} and, later in the "
            f"list, {numbers[other]:g}. Keep one of them."
        )
    return order[np.concatenate((np.ones(min(1, len(order)), dtype=bool), ~same))]
