"""What people hand in, checked: a graph and a tensor with NaN for missing, a mask, or both."""

import sys
from typing import NamedTuple

import numpy as np

from gpukit.base.arrays import (
    aligned,
    as_array,
    axes,
    is_on_gpu,
    labels,
    on_host,
    placer,
    plain,
    resident,
    to_host,
)
from gpukit.errors import DataError, ParameterError
from gpukit.graphs.adjacency import as_adjacency
from gpukit.graphs.check import sound
from gpukit.graphs.column_types import types_of
from gpukit.graphs.convert import by_vertex, numbers, observed, real, refuse_turned_list, sliced, turned
from gpukit.graphs.labels import check_same, of_graph
from gpukit.graphs.near.series import graph_from_series
from gpukit.graphs.tensor import GraphTensor
from gpukit.imputation.centering import spread
from gpukit.imputation.tables import bare
from gpukit.imputation.tables.clock import clock_of
from gpukit.imputation.tables.forms import form_of, refuse_datasets
from gpukit.io.arrays import as_frame, is_frame, is_series
from gpukit.io.times import as_seconds
from gpukit.svt.plan import MOST

OFTEN, FAR = 3, 3.0  # a number that stands for missing: how often it comes, how many ranges of all others it is off
NO_GRAPH = "no graph was given: vertices are joined to those with the most similar series."


class Data(NamedTuple):
    """tensor (N, m, n), float, 0 where missing; mask (N,) or (N, m, n) bool, (N,) where only whole slices are missing;
    shape, the tensor's as it was handed in; given, the tensor as it was handed in, as an array. tensor and given are
    cupy's where they lie on the GPU that works on them."""

    tensor: np.ndarray
    mask: np.ndarray
    shape: tuple
    given: np.ndarray

    @property
    def complete(self):
        """Whether nothing is missing."""
        return bool(self.mask.all())


class Taken(NamedTuple):
    """What GraphImputer.fit takes, checked.

    adjacency  csr (N, N); data: Data, its columns in order of time; clock: tables.clock.Clock
    data
    clock
    vertices   (N,) ids, or None
    give       see tables.forms.Form; None: as arrays
    notes      [text], what a user should know
    types      graphs.column_types.ColumnTypes of the tensor in the order in which it was handed in, or None
    is_table   whether it was an array of times by sensors
    """

    adjacency: object
    data: Data
    clock: object
    vertices: object
    give: object
    notes: list
    types: object = None
    is_table: bool = False

    @property
    def missing(self):
        """Which cells are missing, bool (N, entries), in the order in which they were handed in."""
        seen = np.broadcast_to(spread(self.data.mask), self.data.tensor.shape)
        return ~self.clock.back(np.ascontiguousarray(seen)).reshape(len(seen), -1)

    def check_bounds(self, asked):
        """ParameterError for bounds that leave no value of the dtype of a missing cell."""
        if self.types is not None:
            self.types.check_bounds(self.missing, asked.minimum, asked.maximum)

    def fit_types(self, array, asked):
        """An array of the tensor's shape in order of time, with what was imputed as the tensor's dtypes can hold it."""
        if self.types is None:
            return array
        found = self.types.fit(self.clock.back(array), self.missing, asked.minimum, asked.maximum)
        return found if self.clock.order is None else self.clock.moved(found)

    def back(self, array, known=True):
        """An array of the tensor's shape, as the tensor was handed in; known: of its values, not of deviations."""
        array = self.clock.back(array)
        if known and self.types is not None:
            array = self.types.restore(array, self.missing)
        return array if self.give is None else self.give(array, known)


def taken(graph, tensor=None, mask=None, times=None, device=None):
    """Taken of what GraphImputer.fit takes. device: where a tensor that lies there stays, as cupy's; None: all are
    copied to the host."""
    here = at_hand(tensor, None if graph is None else device)
    return where_it_lay(graph if tensor is None else tensor, in_place(graph, here, mask, times))


def taken_again(model, tensor, mask=None, times=None, device=None):
    """Taken of what a fitted GraphImputer's transform takes; device: see taken."""
    here = at_hand(tensor, device)
    return where_it_lay(tensor, again_in_place(model, here, mask, times))


def at_hand(tensor, device):
    """A tensor that lies on a device as cupy's, others as they are or, from a GPU, as copies on the host."""
    if not is_on_gpu(tensor):
        return tensor
    lies = resident(tensor)
    return lies.as_cupy() if device is not None and device.is_cuda and lies.gpu == device.index else to_host(tensor)


def where_it_lay(tensor, found):
    """Taken whose results go where a tensor lies, if that is on a GPU."""
    there = placer(tensor)
    if there is None:
        return found
    give = found.give or (lambda array, known: array)
    return found._replace(give=lambda array, known: there(give(array, known)))


def in_place(graph, tensor, mask, times):
    """taken() of a tensor at hand, with results where it lies."""
    if isinstance(graph, GraphTensor):
        if tensor is not None:
            raise DataError("a GraphTensor brings its tensor: leave tensor out.")
        graph = sound(graph)
        data = read(*as_given(graph, mask), graph.adjacency.shape[0])
        times = graph.times if times is None else times
        return in_time(graph.adjacency, data, times, graph.vertices, types=graph.types)
    labelled = tensor is None and is_labelled(graph)
    is_table = tensor is None and not labelled and bare.is_table(graph)
    if labelled or is_table:
        graph, tensor = None, graph
    if tensor is None:
        what = "a dictionary" if isinstance(graph, dict) else "a graph alone"
        raise DataError(
            f"{what} has nothing to fill in: give the tensor too, a GraphTensor, or a table of times by sensors alone."
        )
    names = None if graph is None else of_graph(graph)
    known = names if names is not None or graph is None else as_adjacency(graph).shape[0]
    form = form_of(tensor, mask, known, is_frame(graph))
    if form is not None:
        tensor, mask, times = form.tensor, form.mask, form.times if times is None else times
    elif graph is not None:
        tensor, mask = aligned(tensor=tensor, mask=mask)
        graph = by_vertex_labels(graph, labels(tensor))
    else:
        form = bare.table_form(tensor, mask) if is_table else bare.form_without_graph(tensor, mask, times)
        tensor, mask = (tensor, mask) if form is None else (form.tensor, form.mask)
    names = names if form is None else form.vertices
    if graph is None:
        data = read(tensor, mask, count_of(tensor))
        found = in_time(None, data, times, names, form, [NO_GRAPH], given_types(tensor, form))
        return found._replace(adjacency=as_adjacency(graph_of(found.data)), is_table=is_table)
    refuse_turned_list(graph, bare.shape_of(tensor))
    adjacency = as_adjacency(graph, vertices=count_for(graph, tensor))
    data = read(tensor, mask, adjacency.shape[0])
    return in_time(adjacency, data, times, names, form, types=given_types(tensor, form))


def again_in_place(model, tensor, mask, times):
    """taken_again() of a tensor at hand, with results where it lies."""
    count, known, adjacency = model._basis.count, model.vertices_, getattr(model, "adjacency_", None)
    if isinstance(tensor, GraphTensor):
        data = sound(tensor)
        times = data.times if times is None else times
        order = None if known is None or data.vertices is None else places_of(data.vertices, known)
        tensor, mask = as_given(data, mask)
        if order is not None:
            tensor, mask = tensor[order], mask[order]
        types = data.types if data.types is None or order is None else data.types.at(order)
        found = in_time(adjacency, read(tensor, mask, count), times, known, types=types)
        return found if order is None else found._replace(give=by_places(order))
    form = form_of(tensor, mask, count if known is None else known)
    form = bare.form_again(tensor, mask, count, getattr(model, "_is_table", False)) if form is None else form
    if form is not None:
        tensor, mask, times = form.tensor, form.mask, form.times if times is None else times
    data = read(tensor, mask, count)
    return in_time(adjacency, data, times, known, form, types=given_types(tensor, form))


def given_types(tensor, form):
    """The ColumnTypes of a tensor as it was handed in, or None; form: its Form, or None for an array."""
    return types_of(tensor) if form is None else form.types


def places_of(found, known):
    """(N,) places in the ids `found` of the ids `known`; DataError where they are not the same ones."""
    found, known = list(map(str, found.tolist())), list(map(str, known.tolist()))
    check_same(found, known, "the tensor's rows", "vertex")
    places = {name: place for place, name in enumerate(found)}
    return np.array([places[name] for name in known])


def by_places(order):
    """give of Taken that puts rows back to the places from which they were taken."""
    back = np.argsort(order)
    return lambda array, known: array[back]


def in_time(adjacency, data, times, vertices=None, form=None, notes=(), types=None):
    """Taken of Data in the order in which they were handed in."""
    clock = clock_of(times_of(times, data))
    give, own = (None, []) if form is None else (form.give, form.notes)
    notes = [*notes, *own, *clock.notes, *sentinels(data)]
    return Taken(adjacency, clock.forth(data), clock, vertices, give, notes, types)


def sentinels(data):
    """Yield what to say of a least or greatest value that comes often and is far from all others, such as -999."""
    if is_on_gpu(data.tensor):
        return
    values = data.tensor[np.broadcast_to(spread(data.mask), data.tensor.shape)]
    for end in (values.min(initial=np.inf), values.max(initial=-np.inf)):
        others = values[values != end]
        if len(values) - len(others) >= OFTEN and len(others) and np.ptp(others) > 0:
            if np.abs(others - end).min() > FAR * np.ptp(others):
                yield (
                    f"{len(values) - len(others):,} values are {end:g}, far from all others: if that stands for "
                    f"missing, say so (--missing-value {end:g}; NaN in Python)."
                )


def is_labelled(values):
    """Return True for frames and Series, of other libraries too."""
    refuse_datasets(values)
    values = as_frame(values)
    return is_frame(values) or is_series(values)


def count_of(tensor):
    """N of a tensor without a graph; DataError for what is none."""
    given = numbers(tensor, "the tensor")
    check_shape(given, len(given) if given.ndim else 0)
    return len(given)


def graph_of(data):
    """The Graph of the vertices whose series in Data are most alike."""
    seen = np.broadcast_to(spread(data.mask), data.tensor.shape)
    return graph_from_series(np.where(seen, data.tensor, np.nan))


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

    tensor may be a GraphTensor, of which the graph is not looked at, or cupy's, where the Data's tensor then lies; its
    mask is on the host. Integers become float64, float16 float32. Raises
    DataError for another shape, for what is no real number, for infinities and when nothing is observed; ParameterError
    for slices that are too large.
    """
    if isinstance(tensor, GraphTensor):
        tensor, mask = as_given(sound(tensor), mask)
    tensor, mask = aligned(tensor=tensor, mask=mask)
    given = real(tensor, "the tensor") if is_on_gpu(tensor) else numbers(tensor, "the tensor")
    check_shape(given, vertices)
    whole = sliced(given)
    seen = observed(whole, mask, given.shape, strict=False)
    return Data(np.where(seen, whole, whole.dtype.type(0)), on_host(by_vertex(seen)), given.shape, given)


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
            f"shape is {array.shape}. The two must agree: the vertex axis comes first.{turned(array.shape, vertices)}"
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
