"""Arrays without labels: tables of times by sensors, as in scikit-learn.

Without a graph the time axis is determined here.
"""

import numpy as np

from gpukit.base.arrays import as_array, axes
from gpukit.errors import DataError
from gpukit.graphs.column_types import types_of
from gpukit.graphs.convert import is_list, to_real
from gpukit.graphs.tensor import Graph
from gpukit.imputation.periods import in_time
from gpukit.imputation.tables.forms import Form
from gpukit.io.arrays import as_frame, is_frame


def shape_of(values):
    """Return the shape of an array, () for another object."""
    return np.shape(values) if axes(values) else ()


def is_table(values):
    """Return True for an array alone, fit(X), that is not a graph.

    It is a series, a table with gaps, or an array of another shape. Raises DataError for words, dates and objects.
    """
    from scipy import sparse

    if isinstance(values, tuple | dict | Graph) or sparse.issparse(values) or not axes(values):
        return False
    array = as_array(values, "the table")
    if array.ndim > 3:
        return False
    array = to_real(array, "the table")
    return array.ndim != 2 or not np.isfinite(array).all() or not is_graph(array)


def is_target(table, y):
    """Return True for scikit-learn's (X, y), as a Pipeline passes it: a table, no graph, and a value for each row."""
    table = as_frame(table)
    shape = table.shape if is_frame(table) else shape_of(table)
    if y is None or len(shape) != 2 or shape[0] == shape[1] or np.shape(y) not in (shape[:1], (shape[0], 1)):
        return False
    return is_frame(table) or is_table(table)


def is_graph(array):
    """Return True for an adjacency (N, N) or edges (E, 2)."""
    if is_list(array):
        return bool(((array >= 0) & (array == np.floor(array))).all())
    return array.shape[0] == array.shape[1] and bool((array >= 0).all() and np.allclose(array, array.T))


def table_form(array, mask):
    """Return the Form of a series (T,) or a table (T, N).

    The table has times by sensors; mask: of its shape, or None.
    """
    types, array = types_of(array), as_array(array, "the table")
    if array.ndim > 2:
        refuse_samples(array.shape)
    if types is not None and types.original is not None:
        types = types._replace(original=np.ascontiguousarray(np.atleast_2d(types.original.T)))
    mask = None if mask is None else as_array(mask, "the mask")
    if array.ndim == 1:
        return Form(
            array[None], mask if mask is None else mask[None], None, None, lambda out, known: out[0], types=types
        )
    mask = mask.T if mask is not None and mask.shape == array.shape else mask
    return Form(np.ascontiguousarray(array.T), mask, None, None, lambda out, known: out.T, types=types)


def form_without_graph(tensor, mask, times):
    """Return the Form of an array without a graph.

    None if vertices come first. Times that fit one axis, or a mask of whole sensors, determine the axes. Otherwise
    DataError is raised for three axes, and unless the values of the second axis alone are ordered in time.
    """
    shape, length = shape_of(tensor), axes(times) and np.size(times)
    if len(shape) == 1:
        return table_form(tensor, mask)
    are_columns = length == int(np.prod(shape[1:])) and (length != shape[0] or len(shape) == 3)
    if len(shape) not in (2, 3) or are_columns or (axes(mask) == 1 and len(mask) == shape[0]):
        return None
    if len(shape) == 3:
        refuse_samples(shape)
    if length == shape[0] != shape[1]:
        return table_form(tensor, mask)
    values = as_array(tensor, "the tensor")
    if values.dtype.kind not in "biuf" or not values.size:
        return None
    seen = np.isfinite(values)
    if np.shape(mask) == values.shape:
        seen &= as_array(mask, "the mask").astype(bool)
    if in_time(values.T, seen.T) or not in_time(values, seen):
        raise DataError(
            f"an array of shape {shape} without a graph does not say which axis is time. A table of times by sensors "
            "is given alone, fit(X); sensors by times are fit(X.T), or fit(graph_from_series(X), X)."
        )
    return None


def refuse_samples(shape):
    """Raise DataError for samples or matrices without a graph.

    Samples are (samples, steps, features).
    """
    raise DataError(
        f"an array of shape {shape} without a graph could be (samples, steps, features) or matrices on vertices. "
        "Samples that follow each other are fit(X.reshape(-1, X.shape[2])), others are filled in one by one, "
        "fit(X[0]). Matrices need a graph, fit(graph_from_series(X), X)."
    )


def form_again(tensor, mask, count, was_table):
    """Return the Form of an array for a fitted imputer.

    None if vertices come first. count: number of sensors; was_table: whether fit took a table of times by sensors.
    """
    shape = shape_of(tensor)
    if len(shape) == 1 and count == 1:
        return table_form(tensor, mask)
    if not was_table:
        return None
    if len(shape) != 2 or shape[1] != count:
        turned = " Give X.T." if len(shape) == 2 and shape[0] == count else ""
        raise DataError(
            f"the imputer was fitted on a table of {count:,} columns, a sensor each; the shape of this one is {shape}."
            f"{turned}"
        )
    return table_form(tensor, mask)
