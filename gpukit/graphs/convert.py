"""as_graph_tensor: arrays as people have them -> a checked GraphTensor."""

import numpy as np

from gpukit.base import check_integer
from gpukit.errors import DataError, ParameterError
from gpukit.graphs.tensor import GraphTensor


def as_graph_tensor(graph, tensor, mask=None, vertices=None, truth=None, slice_shape=None):
    """The GraphTensor of a graph (any form that as_adjacency takes) and a tensor over its N vertices.

    tensor: (N, m, n), (N, n) or (N,) real numbers, taken as slices of 1 x n and 1 x 1; slice_shape=(m, n) makes
    (N, m, n) of (N, m n). float32 stays, other numbers become float64 (float16 float32). NaN is missing.
    mask: bool or 0 and 1, (N,) or the tensor's shape, True = observed; what it hides is not kept. None: all but NaN. A
    mask of whole slices becomes (N,). vertices: (N,) ids. truth: the tensor's shape, no NaN. No input is changed.
    Raises DataError for infinities, NaN where the mask says observed, an N that is not the graph's, shapes that do not
    fit, nothing observed; all that as_adjacency raises; ParameterError for slice_shape.
    """
    from gpukit.graphs.adjacency import as_adjacency

    given = numbers(tensor, "tensor")
    if given.ndim == 0 or not given.size:
        raise DataError(f"the tensor is empty: its shape is {given.shape}. It needs (N, m, n), (N, n) or (N,) numbers.")
    adjacency = as_adjacency(graph, vertices=len(given) if is_list(graph) else None, names=vertices)
    if len(given) != adjacency.shape[0]:
        raise DataError(
            f"the tensor has {len(given):,} slices (its shape is {given.shape}), but the graph has "
            f"{adjacency.shape[0]:,} vertices. The first axis of the tensor is that of the vertices."
        )
    values = _sliced(given, slice_shape)
    mask = _observed(values, None if mask is None else _mask(mask, given.shape, values.shape))
    if truth is not None:
        truth = _truth(numbers(truth, "truth"), given.shape, values)
    shape = values.shape if slice_shape is not None else given.shape
    return GraphTensor(adjacency, _filled(values, mask), mask, _ids(vertices, len(values)), truth, shape)


def is_list(graph):
    """True for the forms of a graph that list edges, and so do not say how many vertices there are."""
    if isinstance(graph, tuple):
        return len(graph) == 2 and np.ndim(graph[0]) == 2
    return isinstance(graph, np.ndarray | list) and np.ndim(graph) == 2 and np.shape(graph)[1] == 2 != len(graph)


def numbers(values, what):
    """values as an array of float32 or float64; DataError for what are no real numbers."""
    array = np.asarray(values)
    if array.dtype.kind not in "biuf":
        raise DataError(f"{what} holds {array.dtype}, not real numbers.")
    if array.dtype in (np.float32, np.float64):
        return array
    return array.astype(np.float32 if array.dtype == np.float16 else np.float64)


def _sliced(array, slice_shape):
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


def _mask(mask, given, shape):
    """bool (N,) or (N, m, n) of a mask with the tensor's given shape, or its shape as slices."""
    mask = np.asarray(mask)
    if mask.dtype != bool:
        if mask.dtype.kind not in "iuf" or not np.isin(mask, (0, 1)).all():
            raise DataError("the mask must hold True (observed) and False, or 1 and 0.")
        mask = mask.astype(bool)
    if mask.shape not in (shape[:1], given, shape):
        raise DataError(
            f"the mask has the shape {mask.shape}; it needs ({shape[0]},), for whole slices, or the tensor's, {given}."
        )
    return mask if mask.shape == shape[:1] else mask.reshape(shape)


def _observed(values, mask):
    """The mask, (N,) where only whole slices are missing; DataError for values that are none."""
    missing = np.isnan(values)
    wrong = np.isinf(values)
    if wrong.any():
        raise DataError(
            f"the tensor is {values[_first(wrong)]} at {_place(wrong)}; values must be finite, or NaN for missing."
        )
    if mask is not None:
        wrong = missing & (mask if mask.ndim == 3 else mask[:, None, None])
        if wrong.any():
            raise DataError(
                f"the tensor is NaN at {_place(wrong)}, where the mask says observed. Mask it too, or "
                "leave the mask out: NaN is missing."
            )
    found = ~missing if mask is None else mask
    if not found.any():
        raise DataError("nothing is observed: every value is missing, so there is nothing to learn from.")
    if found.ndim == 3:
        whole = found.all(axis=(1, 2))
        found = whole if np.array_equal(whole, found.any(axis=(1, 2))) else found
    return found


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


def _ids(vertices, count):
    if vertices is None:
        return None
    ids = np.asarray(vertices)
    if ids.shape != (count,) or ids.dtype.kind not in "iuU":
        raise DataError(f"vertices must be {count:,} ids, whole numbers or text; got {ids.dtype}, shape {ids.shape}.")
    if len(np.unique(ids)) < count:
        raise DataError("vertices names a vertex twice; ids must differ.")
    return ids
