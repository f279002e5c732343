"""Validation of user input: a graph and a tensor with NaN for missing, a mask, or both."""

import warnings
from typing import NamedTuple

import numpy as np

from gpukit.base import arrays
from gpukit.errors import DataError, ParameterError
from gpukit.graphs import adopt
from gpukit.graphs.adjacency import as_adjacency, positions_of, vertices_of_graph
from gpukit.graphs.column_types import types_of
from gpukit.graphs.graph_builders import graph_from_series
from gpukit.graphs.tensor import GraphTensor
from gpukit.graphs.time_parsing import seconds_of_array
from gpukit.imputation import forms
from gpukit.imputation.problem import spread
from gpukit.io.arrays import is_frame
from gpukit.svt.plan import MOST

NO_GRAPH = "no graph was passed: each vertex is joined to the vertices with the most similar series."
LATEST = 1e11  # seconds since 1970, in the year 5138; milliseconds since 1970 exceed it from 1973 on
FINER_THAN_SECONDS = (
    "the times, read as seconds, are beyond the year 5138, so that no days are found: if they are milliseconds since "
    "1970, divide them by 1,000, microseconds by 1,000,000, nanoseconds by 1,000,000,000."
)


class Data(NamedTuple):
    """Validated tensor (N, m, n) and its mask.

    The tensor is float, 0 where missing. mask: (N,) or (N, m, n) bool, (N,) if only whole slices are missing; shape: of
    the user's tensor.
    """

    tensor: np.ndarray
    mask: np.ndarray
    shape: tuple

    @property
    def seen(self):
        """Observed entries, bool (N, m, n); a view of the mask."""
        return np.broadcast_to(spread(self.mask), self.tensor.shape)

    @property
    def complete(self):
        """Return True if nothing is missing."""
        return bool(self.mask.all())


class Clock(NamedTuple):
    """Times and order of the columns.

    at     (T,) float64 seconds since 1970, rising, of the sorted columns; None if no times are known, or all are equal
    order  (T,) int64: positions of the sorted columns in the user's order; None if they are sorted
    notes  [text], messages for the user
    """

    at: object
    order: object
    notes: list

    def forth(self, data):
        """Return Data with sorted columns."""
        if self.order is None:
            return data
        mask = data.mask if data.mask.ndim == 1 else self.moved(data.mask)
        return data._replace(tensor=self.moved(data.tensor), mask=mask)

    def moved(self, array):
        """Return an array (N, ...) with sorted columns."""
        return array.reshape(len(array), -1)[:, self.order].reshape(array.shape)

    def back(self, array):
        """Return an array (N, ...) of sorted columns in the user's order."""
        if self.order is None:
            return array
        out = np.empty_like(array).reshape(len(array), -1)
        out[:, self.order] = array.reshape(len(array), -1)
        return out.reshape(array.shape)


class Taken(NamedTuple):
    """Validated input of GraphImputer.fit.

    adjacency  csr (N, N); data: Data, its columns in order of time; clock: Clock
    vertices   (N,) ids, or None
    give       see forms.Form
    notes      [text], messages for the user
    types      graphs.column_types.ColumnTypes of the tensor in the user's order, or None
    is_table   True for an array of times by sensors
    has_offset see forms.Form
    is_frame   True for a table with labels, whose sides these determine
    """

    adjacency: object
    data: Data
    clock: object
    vertices: object
    give: object
    notes: list
    types: object = None
    is_table: bool = False
    has_offset: bool | None = None
    is_frame: bool = False

    @property
    def missing(self):
        """Missing cells, bool (N, entries), in the user's order."""
        seen = np.ascontiguousarray(self.data.seen)
        return ~self.clock.back(seen).reshape(len(seen), -1)

    def check_bounds(self, settings, is_fit=False):
        """Raise ParameterError for bounds that exclude all values of a dtype, or, for a fit, all observed values.

        Only dtypes of missing cells count. Other observed values outside the bounds are a UserWarning.
        """
        if self.types is not None:
            self.types.check_bounds(self.missing, settings.minimum, settings.maximum)
        if self.data.complete or (settings.minimum, settings.maximum) == (None, None):
            return
        values = self.data.tensor[self.data.seen]
        for name, bound, side in (("minimum", settings.minimum, -1), ("maximum", settings.maximum, 1)):
            if bound is not None:
                check_bound(name, bound, side, values, is_fit)

    def fit_types(self, array, settings):
        """Convert imputed values to values of the tensor's dtypes.

        The array is in order of time.
        """
        if self.types is None:
            return array
        result = self.types.fit(self.clock.back(array), self.missing, settings.minimum, settings.maximum)
        return result if self.clock.order is None else self.clock.moved(result)

    def back(self, array, known=True):
        """Return an array of the tensor's shape in the user's form; known: values, not deviations."""
        array, missing = self.clock.back(array), self.missing if known else None
        if known and self.types is not None:
            array = self.types.restore(array, missing)
        return self.give(array, missing)


def clock_of(times):
    """Return the Clock of times (T,) in seconds, or of None.

    Times are in the order of the columns. They are sorted, and repeated ones are moved apart, by at most half a step,
    in their order.
    """
    if times is None or (len(times) > 1 and (np.asarray(times) == times[0]).all()):
        return Clock(None, None, [])
    seconds = np.asarray(times, np.float64)
    notes = [FINER_THAN_SECONDS] if np.abs(seconds).max(initial=0.0) > LATEST else []
    if (np.diff(seconds) > 0).all():
        return Clock(seconds, None, notes)
    order = np.argsort(seconds, kind="stable")
    if not (np.diff(seconds[order]) > 0).all():
        notes.append("times repeat: their columns count as next to each other.")
    order = None if (order == np.arange(len(order))).all() else order
    return Clock(spread_repeated(np.sort(seconds)), order, notes)


def spread_repeated(times):
    """Return sorted times with repeated ones moved apart.

    They are moved up to half a step.
    """
    values, first, counts = np.unique(times, return_index=True, return_counts=True)
    steps = np.diff(values, append=values[-1] + (np.median(np.diff(values)) if len(values) > 1 else 1.0))
    within = np.arange(len(times)) - np.repeat(first, counts)
    return times + 0.5 * np.repeat(steps / counts, counts) * within


def check_bound(name, bound, side, values, is_fit):
    """Warn of observed values beyond a bound; raise ParameterError if all values of a fit are.

    side: -1 for a minimum, 1 for a maximum.
    """
    beyond = values[side * values.astype(np.float64) > side * bound]
    if not len(beyond):
        return
    end, where = (beyond.min(), "below") if side < 0 else (beyond.max(), "above")
    if is_fit and len(beyond) == len(values):
        raise ParameterError(
            f"{name}={bound:g}: all {len(values):,} observed values, {values.min():g} to {values.max():g}, are {where} "
            f"it, so every missing value would be {bound:g}. Correct the {name}, or the unit of the values."
        )
    warnings.warn(
        f"{name}={bound:g}: {len(beyond):,} of {len(values):,} observed values are {where} it, the farthest {end:g}. "
        "They stay as they are; values filled in keep the bound.",
        stacklevel=6 if is_fit else 4,
    )


def take_fit_inputs(graph, tensor=None, mask=None, times=None):
    """Return the Taken of GraphImputer.fit's arguments."""
    if isinstance(graph, GraphTensor):
        if tensor is not None:
            raise DataError("a GraphTensor contains its tensor: omit the argument tensor.")
        return take_graph_tensor(graph, mask, times)
    is_alone = tensor is None or (graph is not None and forms.is_target(graph, tensor))
    if is_alone:
        if not forms.is_labelled(graph) and not forms.is_table(graph):
            what = "a dictionary" if isinstance(graph, dict) else "a graph alone"
            raise DataError(
                f"{what} has no values to fill in: pass the tensor too, a GraphTensor, or a table of times by sensors."
            )
        graph, tensor = None, graph
    if graph is None:
        taken = place_results(tensor, take_table(tensor, mask, times, is_alone))
    else:
        taken = place_results(tensor, take_with_graph(graph, tensor, mask, times))
    return taken._replace(is_frame=forms.is_labelled(tensor))


def take_transform_inputs(model, tensor, mask=None, times=None):
    """Return the Taken of GraphImputer.transform's arguments."""
    taken = take_again(model, tensor, mask, times)
    refuse_other_offset(model._held.has_offset, taken.has_offset)
    return taken


def refuse_other_offset(fitted, given):
    """Raise DataError if times have an offset from UTC and those of the fit have none, or the reverse."""
    if None in (fitted, given) or fitted == given:
        return
    has, lacks = "an offset from UTC", "no offset from UTC"
    change = "leave it out (frame.tz_localize(None))" if given else "write it (10:00+01:00; frame.tz_localize(ZONE))"
    raise DataError(
        f"the times have {has if given else lacks}, those of the fitted imputer {has if fitted else lacks}, so they "
        f"may be hours apart: {change}, or fit again on such times."
    )


def take_again(model, tensor, mask, times):
    """Return the Taken of GraphImputer.transform's arguments, whatever the offset of the times."""
    count, known, adjacency = model._basis.count, model.vertices_, getattr(model, "adjacency_", None)
    if isinstance(tensor, GraphTensor):
        return take_graph_tensor(tensor, mask, times, count, known)._replace(adjacency=adjacency)
    form = forms.form_of(tensor, mask, count if known is None else known)
    if form is None:
        if getattr(model, "_is_frame", False):
            forms.refuse_square(tensor, count)
        form = forms.form_again(tensor, mask, count, getattr(model, "_is_table", False))
    return place_results(tensor, take(adjacency, form or array_form(tensor, mask, known), times, count))


def place_results(tensor, result):
    """Return a Taken with results on the tensor's GPU, if any."""
    place_on_device = arrays.placer(tensor)
    if place_on_device is None:
        return result
    return result._replace(give=lambda array, missing: place_on_device(result.give(array, missing)))


def take_graph_tensor(data, mask, times, count=None, known=None):
    """Return the Taken of a GraphTensor, whose values are not copied.

    For a fitted imputer count: the number of its vertices; known: their labels, or None.
    """
    if mask is not None:
        raise DataError("a GraphTensor contains its mask: omit the argument mask.")
    data, order = adopt.validate_tensor(data), slice(None)
    if known is not None and data.vertices is not None:
        ids, labels = (list(map(str, part.tolist())) for part in (data.vertices, known))
        order = np.array(positions_of(labels, ids, "the tensor's rows", "vertex"))
    tensor, mask, shape = data.tensor[order], data.mask[order], data.given or data.tensor.shape
    check_shape(shape, len(tensor) if count is None else count)
    if not mask.any():
        raise DataError(adopt.NOTHING_OBSERVED)
    if tensor[~mask].any():
        tensor = np.where(spread(mask), tensor, tensor.dtype.type(0))
    types = None if data.types is None else data.types.at(order)
    back = order if isinstance(order, slice) else np.argsort(order)
    at, vertices = None if data.times is None else data.times.ravel(), data.vertices if count is None else known
    form = forms.Form(tensor, mask, at, vertices, lambda array, missing: array[back], types=types)
    form = form._replace(has_offset=data.has_offset)
    return order_by_time(data.adjacency, Data(tensor, adopt.reduce_mask(mask), shape), form, times)


def take_table(tensor, mask, times, is_alone):
    """Return the Taken of a table without a graph, that of the most similar series; is_alone: it is fit's only data."""
    form, is_array = forms.form_of(tensor, mask, None), not forms.is_labelled(tensor)
    if form is None:
        form = forms.table_form(tensor, mask) if is_alone else forms.form_without_graph(tensor, mask, times)
    result = take(None, array_form(tensor, mask, None) if form is None else form, times)
    graph, notes = graph_from_series(np.where(result.data.seen, result.data.tensor, np.nan)), [NO_GRAPH, *result.notes]
    return result._replace(adjacency=graph.adjacency, is_table=is_alone and is_array, notes=notes)


def take_with_graph(graph, tensor, mask, times):
    """Return the Taken of a graph and a tensor."""
    names = vertices_of_graph(graph)
    adjacency = as_adjacency(graph) if names is None else None
    form = forms.form_of(tensor, mask, names if adjacency is None else adjacency.shape[0], is_frame(graph))
    form = array_form(tensor, mask, names) if form is None else form
    adopt.refuse_turned_list(graph, form.tensor.shape)
    shape = getattr(graph, "shape", None)
    is_square = isinstance(shape, tuple) and len(shape) == 2 and shape[0] == shape[1]
    count = None if is_square or not form.tensor.ndim else len(form.tensor)
    if adjacency is None or count not in (None, adjacency.shape[0]):  # a list of edges may lack the last vertices
        adjacency = as_adjacency(graph, count, form.vertices)
    return take(adjacency, form, times, adjacency.shape[0])


def array_form(tensor, mask, vertices):
    """Return the Form of an array with a row a vertex; vertices: (N,) their labels, or None."""
    types, array = types_of(tensor), arrays.as_array(tensor, "the tensor")
    array = array.astype(adopt.real_dtype(array, "the tensor"), order="C")
    return forms.Form(array, mask, None, vertices, lambda array, missing: array, types=types)


def take(adjacency, form, times, count=None):
    """Return the Taken of a Form, whose arrays it uses; count: number of vertices, if known."""
    return order_by_time(adjacency, read(form.tensor, form.mask, count), form, times)


def order_by_time(adjacency, data, form, times):
    """Return a Taken of the Data of a Form, in the user's order of columns; times: the user's, or None."""
    seconds = form.times if times is None else seconds_of_array(times)
    clock = clock_of(times_of(seconds, data))
    notes = [*form.notes, *clock.notes, *find_sentinels(data)]
    has_offset = form.has_offset if times is None else forms.have_offset(times)
    return Taken(
        adjacency, clock.forth(data), clock, form.vertices, form.give, notes, form.types, has_offset=has_offset
    )


def find_sentinels(data):
    """Yield a note for a likely code of missing, such as -999, in the table or in single series.

    It is a least or greatest value, frequent and far from all others. More than two such values are no codes.
    """
    others = 10  # of a series; chosen
    series = data.tensor.reshape(len(data.tensor), -1)
    seen = data.seen.reshape(series.shape)
    codes = codes_of(series, seen, others) | codes_of(series.reshape(1, -1), seen.reshape(1, -1), 1)
    for code in sorted(codes) if len(codes) <= 2 else ():
        yield (
            f"{np.count_nonzero(seen & (series == code)):,} values are {code:g}, far from all others. If {code:g} "
            f"means missing, declare it (--missing-value {code:g}; NaN in Python)."
        )


def codes_of(values, seen, others):
    """Return the least and greatest numbers of rows that are frequent and far from at least `others` other values."""
    count, distance = 3, 3.0  # least number of a code, and its distance from other values in their ranges; test
    codes = set()
    for end in (values.min(1, initial=np.inf, where=seen), values.max(1, initial=-np.inf, where=seen)):
        is_end = values == end[:, None]
        rows = np.count_nonzero(seen & is_end, axis=1) >= count
        rows[rows] = np.count_nonzero(seen[rows] & ~is_end[rows], axis=1) >= others
        inner, rest = values[rows], seen[rows] & ~is_end[rows]
        low, high = inner.min(1, initial=np.inf, where=rest), inner.max(1, initial=-np.inf, where=rest)
        end, low, high = (part.astype(np.float64) for part in (end[rows], low, high))
        is_far = np.maximum(low - end, end - high) > distance * (high - low)
        codes.update(end[is_far & (high > low)].tolist())
    return codes


def read(tensor, mask, vertices=None):
    """Return Data of a tensor, whose missing values are set to 0, and a mask.

    tensor (N, m, n), (N, n) or (N,) float; mask (N,) or of its shape, or None; vertices: N, if known. Raises DataError
    for another shape, for infinities and when nothing is observed; ParameterError for slices that are too large.
    """
    check_shape(tensor.shape, (*tensor.shape, 0)[0] if vertices is None else vertices)
    values = adopt.to_slices(tensor)
    seen = adopt.observed_mask(values, mask, tensor.shape, strict=False)
    np.copyto(values, 0, where=~seen)
    return Data(values, adopt.reduce_mask(seen), tensor.shape)


def check_shape(shape, vertices):
    """Raise for another number of vertices, or slices over 512."""
    if len(shape) not in (1, 2, 3) or 0 in shape:
        raise DataError(f"the tensor must be (N, m, n), (N, n) or (N,), not empty; its shape is {shape}.")
    if shape[0] != vertices:
        raise DataError(
            f"the graph has {vertices:,} vertices, the tensor {shape[0]:,} slices (its first axis); its "
            f"shape is {shape}. The two must agree: the vertex axis comes first."
            f"{adopt.hint_for(shape, vertices)}"
        )
    if len(shape) == 3 and min(shape[1:]) > 1 and max(shape[1:]) > MOST:
        m, n = shape[1:]
        raise ParameterError(
            f"slices of {m} x {n} are too large: at most {MOST} rows and columns are supported. Cut them into "
            f"tensors of fewer columns and impute them separately; the basis is computed once."
        )


def times_of(seconds, data):
    """Return (m n,) seconds of the entries of slices, int64 or float64.

    Entries are row by row. None if seconds are None or are those of the columns of several rows. Raises DataError for
    another number of times.
    """
    if seconds is None:
        return None
    m, n = data.tensor.shape[1:]
    if len(seconds) not in (m * n, n):
        raise DataError(
            f"times has {len(seconds):,} entries, the slices {m} x {n}: it needs one for each of the {m * n:,} entries "
            "of a slice, row after row."
        )
    return seconds if len(seconds) == m * n else None
