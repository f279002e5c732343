"""Tables of users as arrays by vertex, and back: frames with their time axis, and arrays without labels."""

import sys
from datetime import datetime
from typing import Literal, NamedTuple, get_args

import numpy as np

from gpukit._pool import map_row_blocks
from gpukit.base import check_choice
from gpukit.base.arrays import align_rows as matched
from gpukit.base.arrays import as_array, axes, ensure_host
from gpukit.errors import DataError
from gpukit.graphs import time_parsing
from gpukit.graphs.adjacency import are_numbers, is_default_index, positions_of
from gpukit.graphs.adopt import is_list, real_dtype
from gpukit.graphs.column_types import refill_frame, types_of, types_of_frame
from gpukit.graphs.columns import REPEATED, has_names, is_called, role_of, times_in
from gpukit.graphs.tensor import Graph
from gpukit.io.arrays import as_frame, is_frame, is_series
from gpukit.io.sheet import MISSING
from gpukit.io.times import exact_seconds
from gpukit.io.words import as_ids, is_number, quote, refuse_repeated


class Form(NamedTuple):
    """A table as an array by vertex.

    tensor, mask  new arrays with a row a vertex, in the order of `vertices`; mask may be None
    times         (T,) seconds, or None if neither side has times
    vertices      (N,) ids, or None
    give          give(array of the tensor's shape, missing): the array in the user's form; missing: bool (N, T), cells
                  without an observed value, the others keep theirs; None for deviations
    notes         [text], messages for the user
    types         graphs.column_types.ColumnTypes of the tensor, or None
    has_offset    whether the times have an offset from UTC; None if this is unknown
    """

    tensor: np.ndarray
    mask: object
    times: object
    vertices: np.ndarray
    give: object
    notes: list = []
    types: object = None
    has_offset: bool | None = None


def is_labelled(values):
    """Return True for a data frame or a column with labels, of pandas or another library."""
    return any(hasattr(values, name) for name in ("iloc", "to_pandas", "collect_schema"))


def to_frame(data):
    """Return a table of another library as pandas'; other objects are returned unchanged.

    Integers and booleans of polars and pyarrow have nullable dtypes: in plain pandas a missing one would make its
    column floats or objects.
    """
    library = type(data).__module__.partition(".")[0]
    if library not in ("polars", "pyarrow"):
        return as_frame(data)
    import pandas
    import pyarrow

    data = data.collect() if hasattr(data, "collect") else data
    is_column = library == "polars" and hasattr(data, "to_frame")
    table = data.to_frame() if is_column else data
    table = table.to_arrow() if library == "polars" else table
    if not hasattr(table, "to_pandas"):
        return data
    names = [f"{sign}Int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64)]
    dtypes = {getattr(pyarrow, name.lower())(): pandas.api.types.pandas_dtype(name) for name in names}
    dtypes[pyarrow.bool_()] = pandas.BooleanDtype()
    frame = table.to_pandas(types_mapper=dtypes.get)
    return frame.iloc[:, 0] if is_column else frame


def form_of(table, mask, vertices, labelled=False):
    """Return the Form of a frame, Series or object with to_pandas.

    Other arrays return None. vertices: (N,) labels of the graph, N if it has none, None without a graph; vertices are
    sorted then. labelled: whether the graph is a frame, which must have labels then. Raises DataError for labels that
    are not the graph's, for a row per reading, and for tables whose vertex axis is ambiguous.
    """
    if not is_labelled(table):
        return None
    is_xarray = hasattr(table, "dims")
    if is_xarray:
        refuse_datasets(table)
    frame = table if hasattr(table, "iloc") else to_frame(table)
    if is_series(frame):
        return series_form(frame, mask, vertices, labelled)
    if not is_frame(frame):
        return None
    call = "frame" if frame is table else "frame.to_pandas()"
    refuse_readings(frame, set(map(str, vertices)) if isinstance(vertices, np.ndarray) else (), call)
    form = wide_form(frame, mask, vertices, labelled)
    if not is_xarray:
        return form
    return form._replace(give=lambda array, missing: table.copy(data=np.asarray(form.give(array, missing))))


def refuse_datasets(values):
    """Raise DataError for xarray's Dataset and DataArrays of three dimensions.

    More dimensions are refused too.
    """
    if hasattr(values, "data_vars"):
        name = next(iter(values.data_vars), "NAME")
        raise DataError(f"an xarray Dataset has several tables: give one of them, dataset[{name!r}].")
    if hasattr(values, "dims") and hasattr(values, "to_pandas") and len(values.dims) > 2:
        raise DataError(
            f"the DataArray has the dimensions {', '.join(map(str, values.dims))}: give it with one of times and one "
            "of sensors, array.stack(sensor=[...])."
        )


def series_form(series, mask, vertices, labelled):
    """Return the Form of a Series.

    It is a table of one column, or a value a vertex if its index has the graph's labels.
    """
    name = "value" if series.name is None else series.name
    refuse_levels(series.index, "series")
    mask = mask.to_frame(name) if is_series(mask) else mask
    form = form_of(series.to_frame(name), mask, vertices, labelled)
    return form._replace(give=lambda array, missing: form.give(array, missing).iloc[:, 0].rename(series.name))


def refuse_readings(frame, known, call="frame"):
    """Raise DataError for a row per reading, and for times in columns, which would be read as sensors.

    known: labels [str] of the graph; call: of the user's table as a pandas frame.
    """
    values = repr(frame.columns[0]) if frame.shape[1] == 1 else "NAME_OF_THE_VALUES"
    refuse_levels(frame.index, f"{call}[{values}]")
    if frame.index.name is not None or frame.index.dtype.kind not in "iu":  # rows with labels
        return
    names = ["" if name in known else name for name in map(str, frame.columns)]
    time = [names[place] for place in times_in(names)] or names[: bool(names) and role_of(names[0]) == "time"]
    if has_names(names):
        sensor = next(name for name in names if is_called(name, "sensor"))
        raise DataError(
            "the table has a row per reading: give a column per sensor, "
            f"{call}.pivot(index={time[0]!r}, columns={sensor!r}, values=NAME_OF_THE_VALUES)."
        )
    if len(time) == 1 < len(names):
        raise DataError(f"the table has times in {time[0]!r}: make them the index, {call}.set_index({time[0]!r}).")
    if len(time) > 1:
        day = ".assign(day=1)" * (len(time) == 2)
        raise DataError(
            f"the table has times in {', '.join(time)}, and as columns they would be sensors: frame.index = "
            f"pandas.to_datetime(frame[{time}]{day}), and leave the columns out, frame.drop(columns={time})."
        )


def refuse_levels(index, call):
    """Raise DataError for an index of several levels; call: of the user's readings as a pandas series."""
    if index.nlevels == 1:
        return
    levels = [number if name is None else name for number, name in enumerate(index.names)]
    sides = {one: plain_side(index.get_level_values(one)) for one in levels}
    others = [one for one in levels if role_of(one) != "time" and not has_times(sides[one])]
    sensors = repr(others[0]) if len(others) == 1 else "NAME_OF_THE_SENSORS"
    raise DataError(
        f"the index has {index.nlevels} levels ({', '.join(map(str, index.names))}), a row per reading: give a column "
        f"per sensor, {call}.unstack({sensors})."
    )


def wide_form(frame, mask, vertices, labelled):
    """Return the Form of times by sensors, or sensors by times."""
    sides = [plain_side(side) for side in (frame.index, frame.columns)]
    turned = are_columns(sides, vertices)
    labels, other = (frame.columns, sides[0]) if turned else (frame.index, sides[1])
    if labelled and not isinstance(vertices, np.ndarray) and not is_default_index(labels):
        raise DataError("the tensor has labels and the graph's are not the same on both sides. Label rows and columns.")
    order, ids = order_of(labels, vertices, "columns" if turned else "rows")
    refuse_repeats(other, "rows" if turned else "columns")
    types, numbers = types_of_frame(frame, turned), numbers_of(frame)

    def as_in_frame(array):
        array = rows_in_order(array, np.argsort(order))
        return array.T if turned else array

    def give(array, missing):
        if missing is not None:
            return refill_frame(frame, as_in_frame(array), as_in_frame(missing))
        return frame.__class__(as_in_frame(array), index=frame.index, columns=frame.columns)

    tensor, times = rows_in_order(numbers.T if turned else numbers, order), times_of(other)
    types, notes = None if types is None else types.at(order), notes_on(other) if times is None else []
    mask = None if mask is None else mask_of(mask, frame, turned, order)
    has_offset = None if times is None else have_offset(frame.index if turned else frame.columns)
    return Form(tensor, mask, times, ids, give, notes, types, has_offset)


def rows_in_order(array, order):
    """Return a new array (N, T), C-contiguous, of rows in an order (N,); it is copied by blocks."""
    out = np.empty(array.shape, array.dtype)
    map_row_blocks(lambda rows: np.copyto(out[rows], array[order[rows]]), out.shape)
    return out


def numbers_of(frame):
    """Return the numbers of a frame, NaN for missing values and words for these; a view of a frame of floats.

    Raises DataError for other words, dates, durations and complex numbers; it names their column.
    """
    out = frame.copy(deep=False)
    for index, kind in enumerate(frame.dtypes):
        name, what, word = frame.columns[index], str(kind) if kind.kind in "cmM" else "", None
        if kind.kind not in "biufcmM":
            column = frame.iloc[:, index].map(lambda value: np.nan if says_nothing(value) else value).astype(object)
            word = next((value for value in column if isinstance(value, str) and not is_number(value, False)), None)
            out.isetitem(index, column.where(column.notna(), np.nan))  # numpy cannot convert pandas' NA
        if what or word is not None:
            shown = "" if what else f" ({quote(word)})"
            raise DataError(
                f"the table has {what or 'words'}, no readings, in {str(name)!r}{shown}: leave such columns out, "
                f"frame.drop(columns=[{name!r}]); times belong in the index, frame.index = pandas.to_datetime(...)."
            )
    is_single = all(str(kind).lower() == "float32" for kind in frame.dtypes)
    try:
        return out.to_numpy(dtype=np.float32 if is_single else np.float64, na_value=np.nan)
    except (TypeError, ValueError) as error:
        raise DataError(f"the tensor holds what is no number ({error}).") from error


def says_nothing(cell):
    """Return True for a word for a missing value."""
    return isinstance(cell, str) and cell.strip().lower() in MISSING


def order_of(side, vertices, axis):
    """Return ((N,) positions of the vertices on a side, their ids).

    Labels 0 to N-1, in any order, are the numbers of the vertices of a graph without labels. Raises DataError for
    labels that are not the graph's.
    """
    names = list(map(str, side))
    if isinstance(vertices, np.ndarray):
        labels = list(map(str, vertices.tolist()))
        if is_default_index(side) and len(side) == len(labels) and set(names) != set(labels):
            return np.arange(len(side)), vertices
        return np.array(positions_of(labels, names, f"the tensor's {axis}", "vertex")), vertices
    ids = as_ids(names)
    if len(set(names)) < len(names):
        refuse_repeated(names, f"the tensor's {axis} have the label")
    order = np.argsort(ids, kind="stable") if vertices is None or are_numbers(ids) else np.arange(len(ids))
    return order, ids[order]


def mask_of(mask, frame, turned, order):
    """Return a mask as an array with a row a vertex.

    A frame is matched by label.
    """
    if is_frame(mask):
        mask = matched(tensor=frame, mask=mask)[1]
        mask = matched(tensor=frame.T, mask=mask.T)[1].T.to_numpy()
    elif hasattr(mask, "index"):
        mask = matched(tensor=frame.T if turned else frame, mask=mask)[1].to_numpy()
    mask = np.asarray(mask)
    if mask.shape not in (frame.shape, (len(order),)):
        raise DataError(
            f"the mask has the shape {mask.shape}; it needs the table's, {frame.shape}, or ({len(order)},), a value "
            "per sensor."
        )
    return (mask.T if turned and mask.ndim == 2 else mask)[order]


def are_columns(sides, vertices):
    """Return True if columns are vertices.

    The labels, the side with dates (the rows if both have them), the sizes and the names of the sides determine it, in
    this order. sides: rows and columns, see plain_side; vertices: (N,) labels of the graph, N if it has none, None
    without a graph. Raises DataError if nothing determines it and the labels of the rows are not times.
    """
    if isinstance(vertices, np.ndarray):
        known = set(map(str, vertices.tolist()))
        shares = [len(known & set(map(str, side))) / max(1, len(side)) for side in sides]
        if shares[0] != shares[1]:
            return shares[1] > shares[0]
    if has_times(sides[0]):
        return True
    if has_times(sides[1]):
        return False
    if vertices is not None:
        count = len(vertices) if isinstance(vertices, np.ndarray) else vertices
        return len(sides[0]) != count and len(sides[1]) == count
    roles = [role_of(side.name) for side in sides]
    turned = roles[0] == roles[1] or roles[0] == "time" or roles[1] == "sensor"
    if can_follow(sides[0] if turned else sides[1]):
        return turned
    raise DataError(
        f"the table's rows are labelled {named(sides[0])}, its columns {named(sides[1])}: no times, so which "
        "side is time is not clear. Name it: frame.rename_axis(index='time') if the rows follow each other in time, "
        "frame.rename_axis(columns='time') if the columns do (DataArray: rename the dimension)."
    )


def named(side):
    """Return the first two labels of a side, for a message."""
    return ", ".join(quote(str(value)) for value in side[:2]) + (", ..." if len(side) > 2 else "")


def can_follow(side):
    """Return True for labels that may be times.

    These are dates, numbers that rise or fall, row numbers, or any labels if the side is named as times.
    """
    if is_default_index(side) or has_times(side) or role_of(side.name) == "time":
        return True
    return side.dtype.kind in "iuf" and (side.is_monotonic_increasing or side.is_monotonic_decreasing)


def notes_on(side):
    """Return [text] on labels of the time axis without times."""
    order = "they count as in order of time where neighbouring values are alike."
    return [] if can_follow(side) else [f"the labels {named(side)} are no times: {order}"]


def refuse_repeats(side, where):
    """Raise DataError for times that repeat often.

    A table of readings has such times.
    """
    different = side.nunique()
    if len(side) > 1 and len(side) >= REPEATED * different:
        raise DataError(
            f"the table has {len(side):,} {where} at {different:,} times ({named(side.unique())}). If each is a "
            "reading of one of several sensors, give a column per sensor: frame.pivot(columns=NAME_OF_THE_SENSORS). "
            "If they follow each other in time, leave the labels out: frame.reset_index(drop=True)."
        )


def plain_side(side):
    """Return an index with its labels in their plain dtype.

    Dates and periods become datetime64 without a zone; there are no categories or objects.
    """
    import pandas

    if isinstance(side, pandas.MultiIndex):
        return side
    if isinstance(side.dtype, pandas.CategoricalDtype) or side.dtype == object:
        side = pandas.Index(list(side), name=side.name)
    if side.dtype == object and pandas.api.types.infer_dtype(side, skipna=False) in ("date", "datetime"):
        side = pandas.to_datetime(side, utc=True)
    if hasattr(side, "to_timestamp"):
        side = side.to_timestamp()
    return side.tz_convert("UTC").tz_localize(None) if getattr(side, "tz", None) is not None else side


def has_times(side):
    """Return True for labels that are dates, durations, or date texts; side: see plain_side."""
    return side.dtype.kind in "Mm" or are_texts_of_dates(side)


def are_texts_of_dates(side):
    """Return True for labels that are texts of dates."""
    are_texts = side.dtype.kind not in "biufMm" and all(isinstance(value, str) for value in side)
    return are_texts and time_parsing.are_dates([*side])


def times_of(side):
    """Return times (T,) of labels as seconds, int64 or float64, or None.

    None: the labels are not times. Numbers are, if the side is named so, or if they rise or fall by unequal steps.
    """
    if side.dtype.kind in "Mm":
        return exact_seconds(side.to_numpy())
    if side.dtype.kind in "iuf" and (role_of(side.name) == "time" or time_parsing.has_unequal_steps(side.to_numpy())):
        return exact_seconds(side.to_numpy()) if side.dtype.kind == "f" else time_parsing.seconds([*map(str, side)])
    return time_parsing.seconds(list(side)) if are_texts_of_dates(side) else None


def have_offset(times):
    """Return whether times, an index, a series, an array or a list, have an offset from UTC.

    None for numbers, durations and numpy's dates, which have no place for one.
    """
    dtype = getattr(times, "dtype", None)
    if getattr(dtype, "tz", None) is not None:
        return True
    if hasattr(dtype, "freq") or getattr(dtype, "kind", "") == "M":
        return None if isinstance(times, np.ndarray) else False
    first = next(iter(as_array(times, "times").ravel().tolist()), None)
    if isinstance(first, str):
        return time_parsing.have_offset([first])
    return first.tzinfo is not None if isinstance(first, datetime) else None


def shape_of(values):
    """Return the shape of an array, () for another object."""
    return np.shape(values) if axes(values) else ()


def is_table(values):
    """Return True for an array alone, fit(X), of up to three axes, that is not a graph.

    Raises DataError for words, dates and objects.
    """
    from scipy import sparse

    if isinstance(values, tuple | dict | Graph) or sparse.issparse(values) or not axes(values):
        return False
    array = as_array(values, "the table")
    if array.ndim > 3:
        return False
    real_dtype(array, "the table")
    is_adjacency = array.ndim == 2 and np.isfinite(array).all() and np.array_equal(array, array.T)
    return not is_adjacency and not (is_list(array) and np.array_equal(array, np.abs(np.floor(array))))


def is_target(table, y):
    """Return True for scikit-learn's (X, y), as a Pipeline passes it: a table, no graph, and a value for each row."""
    shape = getattr(table, "shape", None)
    shape = shape if isinstance(shape, tuple) else shape_of(table)
    if len(shape) != 2 or shape[0] == shape[1] or np.shape(y) not in (shape[:1], (shape[0], 1)):
        return False
    return is_labelled(table) or is_table(table)


def table_form(array, mask):
    """Return the Form of a series (T,) or a table (T, N).

    The table has times by sensors; mask: of its shape, or None.
    """
    types, array = types_of(array), as_array(array, "the table")
    if array.ndim > 2:
        refuse_samples(array.shape)
    if types is not None and types.original is not None:
        types = types._replace(original=np.ascontiguousarray(np.atleast_2d(types.original.T)))
    mask, dtype = None if mask is None else as_array(mask, "the mask"), real_dtype(array, "the table")
    if array.ndim == 1:
        mask = mask if mask is None else mask[None]
        return Form(array[None].astype(dtype), mask, None, None, lambda out, missing: out[0], types=types)
    mask = mask.T if mask is not None and mask.shape == array.shape else mask
    return Form(array.T.astype(dtype, order="C"), mask, None, None, lambda out, missing: out.T, types=types)


def form_without_graph(tensor, mask, times):
    """Return the Form of an array without a graph; None if vertices come first.

    Times that fit one axis, or a mask of whole sensors, determine the axes. Otherwise DataError is raised.
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
    raise DataError(
        f"an array of shape {shape} without a graph does not say which axis is time. A table of times by sensors "
        "is given alone, fit(X); sensors by times are fit(X.T), or fit(graph_from_series(X), X)."
    )


def refuse_samples(shape):
    """Raise DataError for samples or matrices without a graph.

    Samples are (samples, steps, features).
    """
    raise DataError(
        f"an array of shape {shape} without a graph could be (samples, steps, features) or matrices on vertices. "
        "Samples that follow each other are fit(X.reshape(-1, X.shape[2])), others are filled in one by one, "
        "fit(X[0]). Matrices need a graph, fit(graph_from_series(X), X)."
    )


def refuse_square(tensor, count):
    """Raise DataError for a square array, whose sides are not determined, for an imputer fitted on a data frame."""
    if shape_of(tensor) == (count, count):
        raise DataError(
            f"the imputer was fitted on a data frame of {count:,} sensors, and an array of shape {(count, count)} does "
            "not say which side is time: give a data frame with the sensors' names."
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


Output = Literal["default", "pandas"]


def check_output(transform):
    """Return the value of set_output; raise ParameterError for another library."""
    return check_choice("transform", transform, get_args(Output))


def output_of(estimator):
    """Return the value of set_output; without it that of sklearn.set_config, if scikit-learn is loaded."""
    known = getattr(estimator, "_sklearn_output_config", None)  # the name that sklearn.base.clone copies
    sklearn = sys.modules.get("sklearn")
    if known is None and sklearn:
        return check_output(sklearn.get_config()["transform_output"])
    return known["transform"] if known else "default"


def in_container(model, completed):
    """Return a completed table as the DataFrame that set_output requests.

    Results for data frames are data frames already. Raises DataError for tensors with the vertices first.
    """
    if output_of(model) == "default":
        return completed
    result = as_frame(completed)
    if is_frame(result) or is_series(result):
        return result
    if not model._is_table:
        raise DataError(
            f"transform='pandas' is for tables of times by sensors; this tensor has the vertices first, shape "
            f"{completed.shape}. Pass a DataFrame, or call set_output(transform='default')."
        )
    import pandas

    return pandas.DataFrame(ensure_host(completed).reshape(len(completed), -1), columns=feature_names(model))


def feature_names(model, names=None):
    """Return the names (N,) of the columns of a completed table, as objects.

    names: those passed, otherwise those of fit's frame, or x0, x1, ... Raises DataError for another number of names.
    """
    count = model._basis.count
    if names is None:
        names = getattr(model.completed_, "columns", model.vertices_)
        return np.asarray([f"x{index}" for index in range(count)] if names is None else names, object)
    if len(names) != count:
        raise DataError(f"input_features has {len(names):,} names; the model was fitted on {count:,} columns.")
    return np.asarray(names, object)
