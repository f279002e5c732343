"""What people hand in, checked: a graph and a tensor with NaN for missing, a mask, or both."""

import sys
from typing import NamedTuple

import numpy as np

from gpukit.base.arrays import aligned, labels, plain
from gpukit.errors import DataError, ParameterError
from gpukit.graphs.tensor import GraphTensor
from gpukit.svt.plan import MOST


class Data(NamedTuple):
    """tensor (N, m, n), float, 0 where missing; mask (N,) or (N, m, n) bool, (N,) where only whole slices are missing;
    shape, the tensor's as it was handed in; given, the tensor as it was handed in, as an array."""

    tensor: np.ndarray
    mask: np.ndarray
    shape: tuple
    given: np.ndarray

    @property
    def complete(self):
        """Whether nothing is missing."""
        return bool(self.mask.all())


def on_graph(graph, tensor=None, mask=None):
    """(checked adjacency csr (N, N), Data) of what GraphImputer.fit takes."""
    from gpukit.graphs.adjacency import as_adjacency

    if isinstance(graph, GraphTensor):
        if tensor is not None:
            raise DataError("a GraphTensor brings its tensor: leave tensor out.")
        return graph.adjacency, read(graph, mask, graph.adjacency.shape[0])
    if tensor is None:
        raise DataError("a graph alone has nothing to fill in: give the tensor too, or a GraphTensor.")
    tensor, mask = aligned(tensor=tensor, mask=mask)
    graph = by_vertex_labels(graph, labels(tensor))
    adjacency = as_adjacency(graph, vertices=count_for(graph, tensor))
    return adjacency, read(tensor, mask, adjacency.shape[0])


def by_vertex_labels(graph, order):
    """The graph with its vertices in the order of a tensor's labels, a pandas index or None; a graph without labels
    goes by position.

    A DataFrame's columns are brought to the order of its index. Raises DataError where the labels differ.
    """
    networkx = sys.modules.get("networkx")
    if networkx is not None and isinstance(graph, networkx.Graph) and order is not None:
        if set(graph) != set(order):
            lone = next(iter(set(graph) ^ set(order)))
            raise DataError(
                f"the tensor's labels (index) are not the graph's vertices: {lone!r} is in one of the two. Label the "
                "rows by vertex, or go by the graph's own order: .to_numpy()."
            )
        return networkx.to_scipy_sparse_array(graph, nodelist=list(order), dtype=np.float64)
    if labels(graph) is None or not hasattr(graph, "columns"):
        return plain(graph)
    rows = graph if order is None else aligned(tensor=order.to_series(), graph=graph)[1]
    return plain(aligned(rows=rows, columns=rows.T)[1].T)


def count_for(graph, tensor):
    """N for a list of edges, whose last vertices may have none: the tensor's; None where the graph tells."""
    square = hasattr(graph, "shape") and len(graph.shape) == 2 and graph.shape[0] == graph.shape[1]
    return None if square or not np.ndim(tensor) else len(tensor)


def read(tensor, mask, vertices):
    """Data of a tensor (N, m, n), (N, n) or (N,) and a mask (N,) or of the tensor's shape, or None; N = vertices.

    tensor may be a GraphTensor, of which the graph is not looked at. Integers become float64. Raises DataError for
    another shape, for what is no real number, for infinities and when nothing is observed; ParameterError for slices
    that are too large.
    """
    if isinstance(tensor, GraphTensor):
        tensor, mask = as_given(tensor, mask)
    tensor, mask = aligned(tensor=tensor, mask=mask)
    given = as_real(plain(tensor))
    check_shape(given, vertices)
    whole = given.reshape(len(given), *((1,) * (3 - given.ndim)), *given.shape[1:])
    seen = observed_entries(whole, mask, given.shape)
    infinite = np.isinf(whole) & seen
    if infinite.any():
        at = np.unravel_index(int(infinite.argmax()), whole.shape)
        raise DataError(f"the tensor holds an infinity at vertex {at[0]}, entry {at[1:]}. Mark it as missing (NaN).")
    if not seen.any():
        raise DataError("nothing is observed: every value is NaN or masked. True in a mask means observed.")
    return Data(np.where(seen, whole, whole.dtype.type(0)), by_vertex(seen), given.shape, given)


def as_given(graph_tensor, mask=None):
    """(tensor, mask) of a GraphTensor in the shape in which the tensor was handed in; DataError for another mask."""
    if mask is not None:
        raise DataError("a GraphTensor brings its mask: leave mask out.")
    tensor, mask = graph_tensor.tensor, graph_tensor.mask
    shape = tensor.shape if graph_tensor.given is None else graph_tensor.given
    return tensor.reshape(shape), mask if mask.ndim == 1 else mask.reshape(shape)


def as_real(tensor):
    """The tensor as an array of floats, not copied where it is one."""
    try:
        array = np.asarray(tensor)
    except (TypeError, ValueError) as error:
        raise DataError(f"the tensor is no array ({error}).") from error
    if array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
        raise DataError(f"the tensor must hold real numbers, float32 or float64; it is {array.dtype}.")
    return array if array.dtype.kind == "f" else array.astype(np.float64)


def check_shape(array, vertices):
    """Raise for a tensor that does not stand on that many vertices, or has slices over 512."""
    if array.ndim not in (1, 2, 3) or 0 in array.shape:
        raise DataError(f"the tensor must be (N, m, n), (N, n) or (N,), not empty; its shape is {array.shape}.")
    if len(array) != vertices:
        raise DataError(
            f"the graph has {vertices:,} vertices, the tensor {len(array):,} slices (its first axis); its "
            f"shape is {array.shape}. The two must agree: the vertex axis comes first."
        )
    if array.ndim == 3 and min(array.shape[1:]) > 1 and max(array.shape[1:]) > MOST:
        m, n = array.shape[1:]
        raise ParameterError(
            f"slices of {m} x {n} are too large: {MOST} rows and columns are the most. Cut them into "
            f"tensors of fewer columns and impute one after the other; the basis is computed once."
        )


def observed_entries(whole, mask, shape):
    """(N, m, n) bool: neither NaN nor masked."""
    seen = ~np.isnan(whole)
    if mask is None:
        return seen
    mask = np.asarray(plain(mask))
    if mask.dtype != bool and not (mask.dtype.kind in "iu" and np.isin(mask, (0, 1)).all()):
        raise DataError(f"a mask is bool, True = observed; this one is {mask.dtype}.")
    if mask.shape not in (shape, shape[:1]):
        raise DataError(f"the mask's shape is {mask.shape}; it must be {shape[:1]} or the tensor's, {shape}.")
    mask = mask.astype(bool)
    return seen & (mask[:, None, None] if mask.ndim == 1 else mask.reshape(whole.shape))


def by_vertex(seen):
    """A mask (N, m, n) as (N,) where every vertex is observed whole or not at all."""
    flat = seen.reshape(len(seen), -1)
    some = flat.any(axis=1)
    return some if (some == flat.all(axis=1)).all() else seen
