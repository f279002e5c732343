"""as_graph_tensor: arrays and frames as people have them -> a checked GraphTensor."""

import numpy as np

from gpukit.base import check_integer
from gpukit.base.arrays import as_array, axes, beside
from gpukit.errors import DataError, ParameterError
from gpukit.graphs import labels
from gpukit.graphs.adjacency import as_adjacency
from gpukit.graphs.column_types import types_of
from gpukit.graphs.tensor import GraphTensor
from gpukit.io.times import as_seconds


def as_graph_tensor(graph, tensor, mask=None, vertices=None, truth=None, slice_shape=None, times=None, types=None):
    """The GraphTensor of a graph (any form that as_adjacency takes) and a tensor over its N vertices.

    tensor: (N, m, n), (N, n) or (N,) real numbers, taken as slices of 1 x n and 1 x 1; slice_shape=(m, n) makes
    (N, m, n) of (N, m n). float32 stays, other numbers become float64 (float16 float32). NaN and what a masked array
    hides are missing. A DataFrame has a vertex a row or a column; where it and the graph (a DataFrame, networkx, or
    vertices) have labels, its rows or columns are those that the labels say.
    mask: bool or 0 and 1, (N,) or the tensor's shape, True = observed; what it hides is not kept. None: all but NaN. A
    mask of whole slices becomes (N,). vertices: (N,) ids; None: the graph's labels, if it has any. truth: the tensor's
    shape, no NaN. times: of the last axis of the tensor as given, seconds or dates; a DataFrame brings its own.
    types: column_types.ColumnTypes of the tensor as given; None: those of its dtype. No input is changed.
    Raises DataError for infinities, NaN where the mask says observed, an N that is not the graph's, labels that are not
    the graph's, shapes that do not fit, nothing observed; all that as_adjacency raises; ParameterError for slice_shape.
    """
    names = labels.of_graph(graph) if vertices is None else _ids(vertices)
    types = types_of(tensor) if types is None else types
    tensor, when = labels.aligned(tensor, names, "tensor")
    mask, truth = (labels.aligned(one, names, what)[0] for one, what in ((mask, "mask"), (truth, "truth")))
    given = numbers(tensor, "the tensor")
    if given.ndim == 0 or not given.size:
        raise DataError(f"the tensor is empty: its shape is {given.shape}. It needs (N, m, n), (N, n) or (N,) numbers.")
    refuse_turned_list(graph, given.shape)
    adjacency = as_adjacency(graph, vertices=len(given) if is_list(graph) else None, names=names)
    if len(given) != adjacency.shape[0]:
        raise DataError(
            f"the tensor has {len(given):,} slices (its shape is {given.shape}), but the graph has "
            f"{adjacency.shape[0]:,} vertices. The first axis of the tensor is that of the vertices."
            f"{turned(given.shape, adjacency.shape[0])}"
        )
    _check_ids(names, len(given))
    values = sliced(given, slice_shape)
    seen = by_vertex(observed(values, mask, given.shape))
    if truth is not None:
        truth = _truth(numbers(truth, "truth"), given.shape, values)
    times = _times(when if times is None else times, given.shape, values.shape)
    shape = values.shape if slice_shape is not None else given.shape
    return GraphTensor(adjacency, _filled(values, seen), seen, names, truth, times, types, shape)


def turned(shape, count):
    """Return a hint to transpose an array whose other axis has the graph's size; '' for another."""
    if len(shape) == 2 and shape[1] == count:
        return " It looks transposed: give X.T (on the command line: --layout columns)."
    if len(shape) == 3 and count in shape[1:]:
        axis = shape.index(count, 1)
        return f" Axis {axis} has the graph's size: of samples by steps by sensors give one sample, X[0].T."
    return ""


def refuse_turned_list(graph, shape):
    """Raise DataError for a list of edges whose vertices match the columns of an array, not its rows."""
    if is_list(graph) and len(shape) == 2:
        ends = np.asarray(graph[0] if isinstance(graph, tuple) else graph)
        count = int(ends.max()) + 1 if ends.size and ends.dtype.kind in "iu" else None
        if count not in (None, shape[0]) and (how := turned(shape, count)):
            raise DataError(f"the edges are of {count:,} vertices, the shape of the tensor is {shape}.{how}")


def is_list(graph):
    """True for the forms of a graph that list edges, and so do not say how many vertices there are."""
    if isinstance(graph, tuple):
        return len(graph) == 2 and axes(graph[0]) == 2
    return isinstance(graph, np.ndarray | list) and axes(graph) == 2 and np.shape(graph)[1] == 2 != len(graph)


def numbers(values, what):
    """values as an array of float32 or float64, NaN where they are masked; DataError for what are no real numbers.

    Taken: arrays, masked too, nested lists, arrays of other libraries, on a GPU or not.
    """
    return real(as_array(values, what), what)


def real(array, what):
    """numbers() of an array, on whatever device."""
    if array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
        raise DataError(f"{what} holds {array.dtype}, not real numbers: float32 or float64 are needed.")
    if array.dtype in (np.float32, np.float64):
        return array
    return array.astype(np.float32 if array.dtype == np.float16 else np.float64)


def sliced(array, slice_shape=None):
    """array as (N, m, n)."""
    count = len(array)
    if slice_shape is not None:
        m, n = check_slice(slice_shape)
        if array.size != count * m * n:
            raise ParameterError(
                f"slices of {m} x {n} have {m * n:,} numbers, but the tensor's have "
                f"{array.size // count:,} (its shape is {array.shape})."
            )
        return array.reshape(count, m, n)
    if array.ndim > 3:
        raise DataError(
            f"the tensor has {array.ndim} axes (its shape is {array.shape}); it needs (N, m, n), (N, n) or (N,)."
        )
    return array.reshape(count, *(1, 1, *array.shape[1:])[-2:])


def check_slice(slice_shape):
    """(m, n), or ParameterError."""
    try:
        m, n = slice_shape
    except (TypeError, ValueError):
        raise ParameterError(f"slice_shape must be (m, n); got {slice_shape!r}.") from None
    return check_integer("m of slice_shape", m, 1), check_integer("n of slice_shape", n, 1)


def observed(values, mask, given, strict=True):
    """bool (N, m, n): which values (N, m, n) are neither NaN nor masked.

    mask: bool, or 0 and 1, True = observed, (N,) or of the shape `given`, that of the tensor before it was cut into
    slices; or None. DataError for another mask, for infinities where values are observed (anywhere, when strict), when
    nothing is observed and, when strict, for NaN where the mask says observed.
    """
    missing, wrong = np.isnan(values), np.isinf(values)
    told = True if mask is None else _by_entry(mask, given, values)
    if not strict:
        wrong &= told
    if wrong.any():
        raise DataError(
            f"the tensor is {values[_first(wrong)]} at {_place(wrong)}; values must be finite, or NaN for missing."
        )
    if strict and mask is not None and (missing & told).any():
        raise DataError(
            f"the tensor is NaN at {_place(missing & told)}, where the mask says observed. Mask it too, or "
            "leave the mask out: NaN is missing."
        )
    found = ~missing & told
    if not found.any():
        raise DataError("nothing is observed: every value is NaN or masked, so there is nothing to learn from.")
    return found


def _by_entry(mask, given, values):
    """bool (N, m, n), where values (N, m, n) lie, of a mask of one of the shapes."""
    mask, shape = as_array(mask, "the mask"), values.shape
    if mask.dtype != bool:
        if mask.dtype.kind not in "iuf" or not np.isin(mask, (0, 1)).all():
            raise DataError("the mask must hold True (observed) and False, or 1 and 0.")
        mask = mask.astype(bool)
    if mask.shape not in (shape[:1], given, shape):
        raise DataError(
            f"the mask has the shape {mask.shape}; it needs ({shape[0]},), for whole slices, or the tensor's, {given}."
        )
    mask = beside(mask, values)
    return np.broadcast_to(mask[:, None, None], shape) if mask.shape == shape[:1] else mask.reshape(shape)


def by_vertex(seen):
    """A mask (N, m, n) as (N,) where every vertex is observed whole or not at all."""
    flat = seen.reshape(len(seen), -1)
    some = flat.any(axis=1)
    return some if np.array_equal(some, flat.all(axis=1)) else seen


def _first(wrong):
    return np.unravel_index(int(np.argmax(wrong)), wrong.shape)


def _place(wrong):
    vertex, row, column = map(int, _first(wrong))
    return f"vertex {vertex}, row {row}, column {column}"


def _truth(truth, given, values):
    if truth.shape not in (given, values.shape):
        raise DataError(f"truth has the shape {truth.shape}, the tensor {given}; they must be the same.")
    truth = np.ascontiguousarray(truth.reshape(values.shape), dtype=values.dtype)
    wrong = ~np.isfinite(truth)
    if wrong.any():
        raise DataError(f"truth is {truth[_first(wrong)]} at {_place(wrong)}; it must be known everywhere or left out.")
    return truth


def _filled(values, mask):
    """values in C order, 0 where missing; copied when anything is."""
    if mask.all():
        return np.ascontiguousarray(values)
    values = np.array(values, order="C")
    values[~mask] = 0
    return values


def _times(times, given, shape):
    """int64 (n,) or (m, n) of times, one for each place of the last axis as given; None for None."""
    if times is None:
        return None
    times = as_array(times, "times")
    last = given[-1] if len(given) > 1 else 1
    if times.shape not in ((last,), shape[1:], shape[2:]):
        raise DataError(
            f"times has the shape {times.shape}; it needs one for each place of the tensor's last axis, ({last},)."
        )
    seconds = as_seconds(times.ravel())
    return seconds if times.size == shape[2] else seconds.reshape(shape[1:])


def _ids(vertices):
    ids = as_array(vertices, "vertices")
    if ids.ndim != 1 or ids.dtype.kind not in "iuU":
        raise DataError(f"vertices must be ids, whole numbers or text; got {ids.dtype}, shape {ids.shape}.")
    return ids


def _check_ids(ids, count):
    if ids is not None and len(ids) != count:
        raise DataError(f"vertices must be {count:,} ids, one a slice of the tensor; got {len(ids):,}.")
    if ids is not None and len(np.unique(ids)) < count:
        raise DataError("vertices names a vertex twice; ids must differ.")
