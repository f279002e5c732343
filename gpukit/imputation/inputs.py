"""What people hand in, checked: a graph and a tensor with NaN for missing, a mask, or both."""

import sys
from typing import NamedTuple

import numpy as np

from gpukit.base.arrays import aligned, as_array, axes, labels, plain
from gpukit.errors import DataError, ParameterError
from gpukit.graphs.adjacency import as_adjacency
from gpukit.graphs.check import sound
from gpukit.graphs.convert import by_vertex, numbers, observed, sliced
from gpukit.graphs.tensor import GraphTensor
from gpukit.io.times import as_seconds
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
    if isinstance(graph, GraphTensor):
        if tensor is not None:
            raise DataError("a GraphTensor brings its tensor: leave tensor out.")
        graph = sound(graph)
        return graph.adjacency, read(*as_given(graph, mask), graph.adjacency.shape[0])
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
    shape = getattr(graph, "shape", None)
    square = isinstance(shape, tuple) and len(shape) == 2 and shape[0] == shape[1]
    return None if square or not axes(tensor) else len(tensor)


def read(tensor, mask, vertices):
    """Data of a tensor (N, m, n), (N, n) or (N,) and a mask (N,) or of the tensor's shape, or None; N = vertices.

    tensor may be a GraphTensor, of which the graph is not looked at. Integers become float64, float16 float32. Raises
    DataError for another shape, for what is no real number, for infinities and when nothing is observed; ParameterError
    for slices that are too large.
    """
    if isinstance(tensor, GraphTensor):
        tensor, mask = as_given(sound(tensor), mask)
    tensor, mask = aligned(tensor=tensor, mask=mask)
    given = numbers(tensor, "the tensor")
    check_shape(given, vertices)
    whole = sliced(given)
    seen = observed(whole, mask, given.shape, strict=False)
    return Data(np.where(seen, whole, whole.dtype.type(0)), by_vertex(seen), given.shape, given)


def as_given(graph_tensor, mask=None):
    """(tensor, mask) of a GraphTensor in the shape in which the tensor was handed in; DataError for another mask."""
    if mask is not None:
        raise DataError("a GraphTensor brings its mask: leave mask out.")
    tensor, mask = graph_tensor.tensor, graph_tensor.mask
    shape = tensor.shape if graph_tensor.given is None else graph_tensor.given
    return tensor.reshape(shape), mask if mask.ndim == 1 else mask.reshape(shape)


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


def times_of(times, data):
    """(m n,) int64 seconds of the entries of the slices of Data, rows after one another; None where times are None or
    are those of the columns of several rows. DataError for a number of times that does not fit."""
    if times is None:
        return None
    seconds = as_seconds(as_array(times, "times").ravel())
    m, n = data.tensor.shape[1:]
    if len(seconds) not in (m * n, n):
        raise DataError(
            f"times has {len(seconds):,} entries, the slices {m} x {n}: it needs one for each of the {m * n:,} entries "
            "of a slice, row after row."
        )
    return seconds if len(seconds) == m * n else None
