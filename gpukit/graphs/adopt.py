"""Convert arrays to a validated GraphTensor.

`validate_tensor` validates graph tensors of users; as_graph_tensor and the readers return valid ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpukit.base import check_integer
from gpukit.base.arrays import as_array, axes
from gpukit.errors import DataError, ParameterError
from gpukit.graphs.adjacency import as_adjacency, vertices_of_graph
from gpukit.graphs.column_types import types_of
from gpukit.graphs.tensor import GraphTensor
from gpukit.graphs.time_parsing import seconds_of_array
from gpukit.io import trust

if TYPE_CHECKING:
    from gpukit.typing import ArrayLike, GraphLike


NOTHING_OBSERVED = "nothing is observed: every value is NaN or masked, so there is nothing to learn from."


def as_graph_tensor(
    graph: GraphLike,
    tensor: ArrayLike,
    mask: ArrayLike | None = None,
    vertices: ArrayLike | None = None,
    truth: ArrayLike | None = None,
    slice_shape: tuple[int, int] | None = None,
    times: ArrayLike | None = None,
    types: object = None,
) -> GraphTensor:
    """Return the GraphTensor of a graph and a tensor.

    Parameters
    ----------
    graph
        Any form that as_adjacency takes.
    tensor : (N, m, n), (N, n) or (N,)
        Real numbers; the latter two are slices of 1 x n and 1 x 1. float32 stays, other types become float64 (float16
        float32). NaN and masked entries are missing.
    mask : bool or 0 and 1, (N,) or the tensor's shape, or None
        True is observed; other values are not kept. None: all but NaN. A mask of whole slices becomes (N,).
    vertices : (N,) or None
        Ids; None takes the graph's labels, if any.
    truth : the tensor's shape or None
        Complete values without NaN.
    slice_shape : (m, n) or None
        Reshape (N, m n) to (N, m, n).
    times
        Times of the last axis of the input tensor, seconds or dates.
    types : column_types.ColumnTypes or None
        Types of the input tensor; None takes those of its dtype.

    No input is changed. Raises DataError for data frames, infinities, NaN where the mask is True, a wrong N, wrong
    shapes, and no observed value; as as_adjacency does; ParameterError for slice_shape.
    """
    names = vertices_of_graph(graph) if vertices is None else _ids(vertices)
    if any(hasattr(value, "iloc") or hasattr(value, "to_pandas") for value in (tensor, mask, truth)):
        raise DataError(
            "a GraphTensor has no data frames: give arrays with a row per vertex, frame.to_numpy(), and the labels as "
            "vertices=frame.index. GraphImputer().fit(graph, frame) takes the frame itself."
        )
    types = types_of(tensor) if types is None else types
    original = numbers(tensor, "the tensor")
    if original.ndim == 0 or not original.size:
        raise DataError(
            f"the tensor is empty: its shape is {original.shape}. It needs (N, m, n), (N, n) or (N,) numbers."
        )
    refuse_turned_list(graph, original.shape)
    adjacency = as_adjacency(graph, vertices=len(original) if is_list(graph) else None, names=names)
    if len(original) != adjacency.shape[0]:
        raise DataError(
            f"the tensor has {len(original):,} slices (its shape is {original.shape}), but the graph has "
            f"{adjacency.shape[0]:,} vertices. The first axis of the tensor is that of the vertices."
            f"{hint_for(original.shape, adjacency.shape[0])}"
        )
    _check_ids(names, len(original))
    values = to_slices(original, slice_shape)
    seen = reduce_mask(observed_mask(values, mask, original.shape))
    if truth is not None:
        truth = _truth(numbers(truth, "truth"), original.shape, values)
    times = _times(times, original.shape, values.shape)
    shape = values.shape if slice_shape is not None else original.shape
    return GraphTensor(adjacency, _zero_missing(values, seen), seen, names, truth, times, types, shape)


def hint_for(shape, count):
    """Return a hint to transpose if another axis fits, else ''."""
    if len(shape) == 2 and shape[1] == count:
        return " It looks transposed: give X.T (on the command line: --layout columns)."
    if len(shape) == 3 and count in shape[1:]:
        axis = shape.index(count, 1)
        return f" Axis {axis} has the graph's size: of samples by steps by sensors give one sample, X[0].T."
    return ""


def refuse_turned_list(graph, shape):
    """Raise DataError for an edge list that matches an array's columns."""
    if is_list(graph) and len(shape) == 2:
        ends = np.asarray(graph[0] if isinstance(graph, tuple) else graph)
        count = int(ends.max()) + 1 if ends.size and ends.dtype.kind in "iu" else None
        if count not in (None, shape[0]) and (how := hint_for(shape, count)):
            raise DataError(f"the edges are of {count:,} vertices, the shape of the tensor is {shape}.{how}")


def is_list(graph):
    """Return True for edge lists, which may lack isolated vertices."""
    if isinstance(graph, tuple):
        return len(graph) == 2 and axes(graph[0]) == 2
    return isinstance(graph, np.ndarray | list) and axes(graph) == 2 and np.shape(graph)[1] == 2 != len(graph)


def numbers(values, what):
    """Return values as float32 or float64, NaN where masked.

    values: arrays, masked too, nested lists, arrays of other libraries, also on a GPU. Raises DataError for values that
    are not real numbers.
    """
    array = as_array(values, what)
    return array.astype(real_dtype(array, what), copy=False)


def real_dtype(array, what):
    """Return float32 for an array of these or of float16, else float64; DataError if it holds no real numbers."""
    if array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
        raise DataError(f"{what} holds {array.dtype}, not real numbers: float32 or float64 are needed.")
    return np.dtype(np.float32 if array.dtype in (np.float16, np.float32) else np.float64)


def to_slices(array, slice_shape=None):
    """Return array as (N, m, n)."""
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


def check_slice(shape, name="slice_shape"):
    """Return (m, n), or raise ParameterError."""
    try:
        m, n = shape
    except (TypeError, ValueError):
        raise ParameterError(f"{name} must be (m, n), the sides of a slice; got {shape!r}.") from None
    return check_integer(f"m of {name}", m, 1), check_integer(f"n of {name}", n, 1)


def observed_mask(values, mask, original, strict=True):
    """Return a mask (N, m, n) of values that are neither NaN nor masked.

    mask: bool, or 0 and 1, True = observed, (N,) of the shape `original` of the tensor before slicing, or None.
    Raises DataError for another mask, for infinities in observed values (anywhere if strict), if nothing is observed
    and, if strict, for NaN where the mask is True.
    """
    missing, wrong = np.isnan(values), np.isinf(values)
    in_mask = True if mask is None else _expand_mask(mask, original, values)
    if not strict:
        wrong &= in_mask
    if wrong.any():
        raise DataError(
            f"the tensor is {values[_index_of(wrong)]} at {_place(wrong)}; values must be finite, or NaN for missing."
        )
    if strict and mask is not None and (missing & in_mask).any():
        raise DataError(
            f"the tensor is NaN at {_place(missing & in_mask)}, where the mask says observed. Mask it too, or "
            "leave the mask out: NaN is missing."
        )
    result = ~missing & in_mask
    if not result.any():
        raise DataError(NOTHING_OBSERVED)
    return result


def _expand_mask(mask, original, values):
    """Return a mask of any valid shape as bool (N, m, n)."""
    mask, shape = as_array(mask, "the mask"), values.shape
    if mask.dtype != bool:
        if mask.dtype.kind not in "iuf" or not np.isin(mask, (0, 1)).all():
            raise DataError("the mask must hold True (observed) and False, or 1 and 0.")
        mask = mask.astype(bool)
    if mask.shape not in (shape[:1], original, shape):
        raise DataError(
            f"the mask has the shape {mask.shape}; it needs ({shape[0]},), for whole slices, or the tensor's, "
            f"{original}."
        )
    return np.broadcast_to(mask[:, None, None], shape) if mask.shape == shape[:1] else mask.reshape(shape)


def reduce_mask(seen):
    """Return a mask as (N,) if it has no partial slices."""
    flat = seen.reshape(len(seen), -1)
    is_observed = flat.any(axis=1)
    return is_observed if np.array_equal(is_observed, flat.all(axis=1)) else seen


def _index_of(wrong):
    return np.unravel_index(int(np.argmax(wrong)), wrong.shape)


def _place(wrong):
    vertex, row, column = map(int, _index_of(wrong))
    return f"vertex {vertex}, row {row}, column {column}"


def _truth(truth, original, values):
    if truth.shape not in (original, values.shape):
        raise DataError(f"truth has the shape {truth.shape}, the tensor {original}; they must be the same.")
    truth = np.ascontiguousarray(truth.reshape(values.shape), dtype=values.dtype)
    wrong = ~np.isfinite(truth)
    if wrong.any():
        raise DataError(
            f"truth is {truth[_index_of(wrong)]} at {_place(wrong)}; it must be known everywhere or left out."
        )
    return truth


def _zero_missing(values, mask):
    """Return values in C order, 0 where missing.

    The array is copied if any value is missing.
    """
    if mask.all():
        return np.ascontiguousarray(values)
    values = np.array(values, order="C")
    values[~mask] = 0
    return values


def _times(times, original, shape):
    """Return the times of the input's last axis in seconds, or None.

    Their shape is (n,), or (m, n) after reshaping.
    """
    if times is None:
        return None
    times = as_array(times, "times")
    last = original[-1] if len(original) > 1 else 1
    if times.shape not in ((last,), shape[1:], shape[2:]):
        raise DataError(
            f"times has the shape {times.shape}; it needs one for each place of the tensor's last axis, ({last},)."
        )
    seconds = seconds_of_array(times)
    return seconds if times.size == shape[2] else seconds.reshape(shape[1:])


def _ids(vertices):
    ids = as_array(vertices, "vertices")
    if ids.ndim != 1 or ids.dtype.kind not in "iuU":
        raise DataError(f"vertices must be ids, whole numbers or text; got {ids.dtype}, shape {ids.shape}.")
    return ids


def _check_ids(ids, count):
    if ids is not None and len(ids) != count:
        raise DataError(f"vertices must be {count:,} ids, one a slice of the tensor; got {len(ids):,}.")
    if ids is not None and (twice := trust.first_repeated(ids)) is not None:
        raise DataError(f"vertices has {twice} twice; ids must differ.")


FLOATS = (np.float32, np.float64)


def validate_tensor(data):
    """Return a valid GraphTensor, or raise DataError.

    Checked: adjacency, shapes, dtypes, finite values, unique ids.
    """
    if not isinstance(data, GraphTensor) or getattr(data.adjacency, "format", None) != "csr":
        what = type(data.adjacency if isinstance(data, GraphTensor) else data).__name__
        raise DataError(f"a GraphTensor has an adjacency in CSR; got {what}. as_graph_tensor makes one.")
    adjacency = as_adjacency(data.adjacency)
    for name in ("tensor", "mask", "vertices", "truth", "times"):
        if (value := getattr(data, name)) is not None and not isinstance(value, np.ndarray):
            raise DataError(
                f"GraphTensor.{name} must be an array; got {type(value).__name__}. as_graph_tensor makes one."
            )
    count, shape = adjacency.shape[0], np.shape(data.tensor)
    trust.check_array("GraphTensor.tensor", data.tensor, FLOATS, (count, None, None))
    trust.check_finite("GraphTensor.tensor", data.tensor)
    trust.check_array("GraphTensor.mask", data.mask, np.bool_, (count,) if np.ndim(data.mask) == 1 else shape)
    if data.truth is not None:
        trust.check_array("GraphTensor.truth", data.truth, data.tensor.dtype.type, shape)
        trust.check_finite("GraphTensor.truth", data.truth)
    if data.times is not None:
        trust.check_array(
            "GraphTensor.times", data.times, (np.int64, np.float64), shape[3 - max(1, min(2, np.ndim(data.times))) :]
        )
        trust.check_finite("GraphTensor.times", data.times)
    if data.vertices is not None:
        _check_ids(_ids(data.vertices), count)
    return data._replace(adjacency=adjacency)
