"""Validate graph tensors of users; as_graph_tensor and the readers return valid ones."""

from math import prod

import numpy as np

from gpukit.errors import DataError
from gpukit.graphs.adjacency import as_adjacency
from gpukit.graphs.column_types import ColumnTypes
from gpukit.graphs.tensor import GraphTensor
from gpukit.io import trust

FLOATS = (np.float32, np.float64)


def sound(data):
    """Return a valid GraphTensor, or raise DataError.

    Checked: adjacency, shapes, dtypes, finite values, unique ids.
    """
    if not isinstance(data, GraphTensor) or getattr(data.adjacency, "format", None) != "csr":
        what = type(data.adjacency if isinstance(data, GraphTensor) else data).__name__
        raise DataError(f"a GraphTensor has an adjacency in CSR; got {what}. as_graph_tensor makes one.")
    adjacency = as_adjacency(data.adjacency)
    for name in ("tensor", "mask", "truth", "times"):
        if (one := getattr(data, name)) is not None and not isinstance(one, np.ndarray):
            raise DataError(
                f"GraphTensor.{name} must be an array; got {type(one).__name__}. as_graph_tensor makes one."
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
    if data.vertices is not None:
        _check_vertices(data.vertices, count)
    if data.given is not None:
        _check_given(data.given, shape)
    if data.types is not None:
        _check_types(data.types, (shape[0], shape[1] * shape[2]))
    return data._replace(adjacency=adjacency)


def _check_vertices(vertices, count):
    if not isinstance(vertices, np.ndarray) or vertices.shape != (count,) or vertices.dtype.kind not in "iuU":
        raise DataError(f"GraphTensor.vertices must be {count:,} ids, whole numbers or text.")
    twice = trust.repeated(vertices)
    if twice is not None:
        raise DataError(f"GraphTensor.vertices has {twice} twice; ids must differ.")


def _check_types(types, shape):
    sizes = np.shape(getattr(types, "codes", None))
    if not isinstance(types, ColumnTypes) or len(sizes) != 2 or any(one not in (1, n) for one, n in zip(sizes, shape)):
        raise DataError(f"GraphTensor.types is {types!r:.80}, not the types of {shape[0]:,} x {shape[1]:,} cells.")


def _check_given(given, shape):
    whole = (
        isinstance(given, tuple) and 1 <= len(given) <= 3 and all(isinstance(size, int | np.integer) for size in given)
    )
    if not whole or given[0] != shape[0] or prod(map(int, given)) != prod(shape):
        raise DataError(
            f"GraphTensor.given is {given!r:.80}; it is the shape of the tensor as it was handed in, {shape}."
        )
