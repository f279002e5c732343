"""Frames and labelled arrays as arrays by vertex, and back; the time axis of a frame."""

from typing import NamedTuple

import numpy as np

from gpukit.base.arrays import align_rows as matched
from gpukit.errors import DataError
from gpukit.graphs import labels, time_parsing
from gpukit.graphs.column_types import refill, refill_frame, types_of_frame
from gpukit.graphs.columns import REPEATED, Columns, has_names, long_by_name, role_of, times_in
from gpukit.graphs.completed import completed_as, completed_frame
from gpukit.graphs.labels import is_default_index
from gpukit.graphs.table import long_of, type_of_long
from gpukit.io.arrays import as_frame, is_frame, is_series
from gpukit.io.sheet import MISSING, FrameTable
from gpukit.io.times import exact_seconds
from gpukit.io.words import as_ids, is_number, quote


class Form(NamedTuple):
    """A tensor from labelled input.

    tensor, mask  arrays with a row a vertex, in the order of `vertices`; mask may be None
    times         (T,) seconds, or None if neither side has times
    vertices      (N,) ids
    give          give(array of the tensor's shape, known): the array in the user's form; known: whether observed cells
                  keep their values (False for deviations)
    notes         [text], messages for the user
    types         graphs.column_types.ColumnTypes of the tensor, or None
    """

    tensor: np.ndarray
    mask: object
    times: object
    vertices: np.ndarray
    give: object
    notes: list = []
    types: object = None


def form_of(tensor, mask, vertices, labelled=False):
    """Return the Form of a frame, Series or object with to_pandas.

    A DataFrame is wide, either way, or long. Other arrays return None. vertices: (N,) labels of the graph, N if it has
    none, None without a graph; vertices are sorted then. labelled: whether the graph is a frame, which must have labels
    then. Raises DataError for labels that are not the graph's, and for tables whose vertex axis is ambiguous.
    """
    refuse_datasets(tensor)
    frame = as_frame(tensor)
    if is_series(frame):
        return series_form(frame, mask, vertices, labelled)
    if not is_frame(frame):
        return None
    if frame is not tensor and hasattr(tensor, "dims"):  # xarray's
        form = form_of(frame, mask, vertices, labelled)
        return form._replace(give=lambda array, known: tensor.copy(data=np.asarray(form.give(array, known))))
    if frame.columns.nlevels > 1:
        return leveled_form(frame, mask, vertices, labelled)
    readings = as_readings(frame, vertices)
    if readings is not None:
        return long_form(frame, readings, mask, vertices)
    return wide_form(frame, mask, vertices, labelled)


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
    mask = mask.to_frame(name) if is_series(mask) else mask
    form = form_of(series.to_frame(name), mask, vertices, labelled)
    return form._replace(give=lambda array, known: form.give(array, known).iloc[:, 0].rename(series.name))


def leveled_form(frame, mask, vertices, labelled):
    """Return the Form of a frame whose columns have levels.

    If the columns differ in one level only, it has their labels.
    """
    levels = [frame.columns.get_level_values(index) for index in range(frame.columns.nlevels)]
    differing = [level for level in levels if level.nunique() > 1]
    timed = [index for index, level in enumerate(levels) if has_times(level)]
    if len(differing) > 1 and timed:
        raise DataError(f"the table's columns have times in level {timed[0]}: give frame.stack({timed[0]}).")
    names = differing[0] if len(differing) == 1 else [str(value) for value in frame.columns]
    form = form_of(frame.set_axis(names, axis=1), mask, vertices, labelled)
    return form._replace(give=lambda array, known: form.give(array, known).set_axis(frame.columns, axis=1))


def is_numbered(index):
    """Return True for row numbers; some may be missing or repeat."""
    return index.name is None and index.dtype.kind in "iu"


def as_readings(frame, vertices):
    """Return (flat frame, its Columns, is_part) of readings, else None.

    The flat frame has its index as columns. is_part: whether the index had the sensor or the time.
    """
    known = frozenset(map(str, vertices.tolist())) if isinstance(vertices, np.ndarray) else frozenset()
    if frame.index.nlevels > 1:
        return in_levels(frame, known)
    is_part = not is_numbered(frame.index)
    if not len(frame) or (is_part and (frame.index.is_unique or frame.shape[1] < 2)):
        return None
    name = frame.index.name or ("time" if has_times(frame.index) else "sensor")
    if is_part and name in frame.columns:
        return None
    flat = frame.reset_index(names=[name]) if is_part else frame
    table = FrameTable("the table", flat)
    if not has_names(table.first) or flat.shape[1] < 3:
        return None
    layout = long_by_name(table, True, None)
    if layout is None or (is_part and 0 not in (*layout.time, *layout.labels)):
        return None
    return with_times(flat, layout, flat.iloc[:, layout.time[0]] if len(layout.time) == 1 else None), layout, is_part


def in_levels(frame, known):
    """Return as_readings of a frame with sensors and times in index levels."""
    time = level_of_time(frame.index, known)
    if frame.shape[1] > 1:
        names = [index if name is None else name for index, name in enumerate(frame.index.names) if index != time]
        raise DataError(
            f"the table has a row a reading and {frame.shape[1]:,} columns: fill in one at a time, "
            f"frame[[{frame.columns[0]!r}]], or each column of each sensor as a series, frame.unstack({names})."
        )
    levels = range(frame.index.nlevels)
    flat = frame.reset_index(names=[f"level {index}" for index in levels])
    layout = Columns(True, "long", (time,), tuple(index for index in levels if index != time), (len(levels),))
    return with_times(flat, layout, frame.index.get_level_values(time)), layout, True


def with_times(flat, layout, times):
    """Return a frame of readings whose one column of times has dates.

    Times are dates, periods or durations before.
    """
    import pandas

    if times is None:
        return flat
    side = plain_side(pandas.Index(times))
    if side.dtype.kind == "m":
        side = pandas.Timestamp(0) + side
    if side.isna().any():
        place = FrameTable("the table", flat).place(int(np.argmax(side.isna())))
        raise DataError(f"the table, {place}: this reading has no time.")
    flat = flat.copy(deep=False)
    flat.isetitem(layout.time[0], side)
    return flat


def level_of_time(index, known):
    """Return the position of the level of times.

    It is the only one without labels of the graph, with dates, with a name of times, or without a name of sensors.
    Raises DataError if that is ambiguous.
    """
    levels = [plain_side(index.get_level_values(level).unique()) for level in range(index.nlevels)]
    roles = [role_of(name) for name in index.names]
    signs = (
        [not (known and set(map(str, level)) <= known) for level in levels],
        [has_times(level) for level in levels],
        [role == "time" for role in roles],
        [role != "sensor" for role in roles],
    )
    layout = next((sign for sign in signs if sum(sign) == 1), None)
    if layout is None:
        raise DataError(
            f"the index has {len(levels)} levels ({', '.join(map(str, index.names))}), and which one says when is not "
            "clear. Name them: frame.rename_axis(['sensor', 'time']), in their order; make one of times in several."
        )
    return layout.index(True)


def long_form(frame, readings, mask, vertices):
    """Return the Form of rows of readings.

    A frame with row numbers gets a row for each missing pair.
    """
    if mask is not None:
        raise DataError("a table of readings has no mask: leave out the readings that are missing, or their values.")
    flat, layout, is_part = readings
    table = FrameTable("the table", flat)
    known = vertices if isinstance(vertices, np.ndarray) else None
    long = long_of(table, layout, table.frame(), known)
    count = len(vertices) if known is not None else vertices
    if count is not None and len(long.ids) > count:
        raise DataError(
            f"readings are of {len(long.ids):,} sensors, {str(long.ids[-1])!r} among them, which the graph has not. "
            "Leave them out, or give the graph these labels."
        )
    if known is None:
        order = np.argsort(long.ids, kind="stable")
        long = long._replace(ids=long.ids[order], values=long.values[order], vertex=np.argsort(order)[long.vertex])
    column = flat.iloc[:, layout.values[0]]

    def give_rows(array, known):
        out, filled = frame.copy(), array[long.vertex, long.time]
        out[column.name] = refill(frame[column.name], filled, column.isna().to_numpy()) if known else filled
        return out

    def give(array, known):
        if known:
            result = completed_as(long, array, np.isfinite(long.values))
        else:
            result = completed_frame(long, array, np.zeros(long.values.shape, bool), list).infer_objects()
        result = result.set_axis(frame.columns, axis=1)
        return result.set_axis(frame.index) if len(result) == len(frame) else result

    lacking = long.values.size - len(np.unique(long.vertex * len(long.moments) + long.time))
    note = f"{lacking:,} pairs of a sensor and a time have no row, and get none: frame.unstack() has them all."
    values = long.values.astype(np.float32) if column.dtype == np.float32 and is_part else long.values
    notes = [note] * bool(lacking and is_part)
    return Form(values, None, long.seconds, long.ids, give_rows if is_part else give, notes, type_of_long(table, long))


def wide_form(frame, mask, vertices, labelled):
    """Return the Form of times by sensors, or sensors by times."""
    original, clock = frame, clock_in(frame, vertices)
    frame = frame if clock is None else frame.set_index(clock)
    turned = are_columns(frame, vertices)
    side, other = (frame.columns, frame.index) if turned else (frame.index, frame.columns)
    if labelled and not isinstance(vertices, np.ndarray) and not labels.is_default_index(side):
        raise DataError("the tensor has labels and the graph's are not the same on both sides. Label rows and columns.")
    axis = "columns" if turned else "rows"
    order, ids = order_of(side, vertices, axis)
    refuse_repeats(other, "rows" if turned else "columns")
    refuse_calendar(frame)
    array, seen = numbers_of(frame, turned)[order], mask_of(mask, frame, turned, order)
    array = np.ascontiguousarray(array)
    types, observed = types_of_frame(frame, turned), is_observed(array, seen)

    def as_frame_lies(array):
        out = np.empty(array.shape, array.dtype)
        out[order] = array
        return out.T if turned else out

    def give(array, known):
        cells = as_frame_lies(array)
        if known:
            result = refill_frame(frame, cells, ~as_frame_lies(observed))
        else:
            result = frame.__class__(cells, index=frame.index, columns=frame.columns)
        return result if clock is None else result.reset_index()[[*original.columns]].set_axis(original.index)

    types = None if types is None else types.at(order)
    return Form(array, seen, times_of(other), ids, give, notes_on(other), types)


def is_observed(array, mask):
    """Return the mask of observed cells of (N, T) values.

    mask: the user's, (N,) or (N, T), or None.
    """
    seen = np.isfinite(array)
    if mask is None or np.shape(mask) not in (array.shape, array.shape[:1]):
        return seen  # a mask of another shape is refused later
    mask = np.asarray(mask) == 1
    return seen & (mask if mask.ndim == 2 else mask[:, None])


def numbers_of(frame, turned):
    """Return the numbers of a frame, NaN for words for missing values.

    Raises DataError for other words, dates, durations and complex numbers; it names their column.
    """
    out = frame.copy(deep=False)
    for index, kind in enumerate(frame.dtypes):
        if kind.kind in "cmM":
            name = frame.columns[index]
            raise DataError(
                f"the table has {kind}, no readings, in {str(name)!r}: leave such columns out, frame.drop(columns="
                f"[{name!r}]); times belong in the index, frame.index = pandas.to_datetime(...)."
            )
        if kind.kind not in "biuf":
            out.isetitem(index, frame.iloc[:, index].map(lambda value: np.nan if says_nothing(value) else value))
            word = next(
                (value for value in out.iloc[:, index] if isinstance(value, str) and not is_number(value, False)), None
            )
            if word is not None:
                name = frame.columns[index]
                raise DataError(
                    f"the table has words, no readings, in {str(name)!r} ({quote(word)}): leave such columns out, "
                    f"frame.drop(columns=[{name!r}]); times belong in the index, frame.index = pandas.to_datetime(...)."
                )
    return labels.numbers(out, "tensor", turned)


def says_nothing(cell):
    """Return True for a word for a missing value."""
    return isinstance(cell, str) and cell.strip().lower() in MISSING


def refuse_calendar(frame):
    """Raise DataError for columns of times, such as year and month.

    They would be read as sensors.
    """
    names = list(map(str, frame.columns))
    places = times_in(names) if is_numbered(frame.index) else ()
    if len(places) > 1:
        columns, first = [names[place] for place in places], ".assign(day=1)" * (len(places) == 2)
        raise DataError(
            f"the table has times in {', '.join(columns)}, and as columns they would be sensors: frame.index = "
            f"pandas.to_datetime(frame[{columns}]{first}), and leave the columns out, frame.drop(columns={columns})."
        )


def clock_in(frame, vertices):
    """Return the name of a frame's column of times, or None.

    Only frames with row numbers have one: a column named as times that is not a vertex, or the first one if it has
    dates.
    """
    if not is_numbered(frame.index) or frame.shape[1] < 2:
        return None
    known = set(map(str, vertices)) if isinstance(vertices, np.ndarray) else set()
    names = ["" if name in known else name for name in map(str, frame.columns)]
    if frame.dtypes.iloc[0].kind == "M" or role_of(names[0]) == "time":
        return frame.columns[0]
    places = times_in(names)
    return frame.columns[places[0]] if len(places) == 1 else None


def order_of(side, vertices, axis):
    """Return ((N,) positions of the vertices on a side, their ids).

    Raises DataError for labels that are not the graph's.
    """
    names = list(map(str, side))
    if isinstance(vertices, np.ndarray):
        if not (labels.is_default_index(side) and len(side) == len(vertices)):
            labels.check_same(names, list(map(str, vertices.tolist())), f"the tensor's {axis}", "vertex")
        places = {name: place for place, name in enumerate(names)}
        return [places.get(str(value), index) for index, value in enumerate(vertices.tolist())], vertices
    ids = as_ids(names)
    if len(set(names)) < len(names):
        raise DataError(
            f"the tensor's {axis} have the label {labels.first_repeated(names)!r} twice; labels must differ."
        )
    order = np.argsort(ids, kind="stable") if vertices is None else np.arange(len(ids))
    return order, ids[order]


def mask_of(mask, frame, turned, order):
    """Return a mask as an array with a row a vertex.

    A frame is matched by label.
    """
    if is_frame(mask):
        mask = matched(tensor=frame, mask=mask)[1]
        mask = matched(tensor=frame.T, mask=mask.T)[1].T.to_numpy()
    elif mask is None:
        return None
    elif hasattr(mask, "index"):
        mask = matched(tensor=frame.T if turned else frame, mask=mask)[1].to_numpy()
    mask = np.asarray(mask)
    return (mask.T if turned and mask.ndim == 2 else mask)[order] if len(mask.shape) else mask


def are_columns(frame, vertices):
    """Return True if columns are vertices.

    The labels, the side with dates, the sizes and the names of the sides determine it, in this order. vertices: (N,)
    labels of the graph, N if it has none, None without a graph. Raises DataError if nothing determines it and the
    labels of the rows are not times.
    """
    sides = frame.index, frame.columns
    if isinstance(vertices, np.ndarray):
        known = set(map(str, vertices.tolist()))
        shares = [len(known & set(map(str, side))) / max(1, len(side)) for side in sides]
        if shares[0] != shares[1]:
            return shares[1] > shares[0]
    dated = [has_times(side) for side in sides]
    if dated[0] != dated[1]:
        return dated[0]
    if vertices is not None:
        count = len(vertices) if isinstance(vertices, np.ndarray) else vertices
        return len(frame) != count and frame.shape[1] == count
    roles = [role_of(side.name) for side in sides]
    turned = roles[0] == roles[1] or roles[0] == "time" or roles[1] == "sensor"
    if can_follow(frame.index if turned else frame.columns):
        return turned
    raise DataError(
        f"the table's rows are labelled {named(frame.index)}, its columns {named(frame.columns)}: no times, so which "
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
    side = plain_side(side)
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
            "reading of one of several sensors, add them: frame.set_index(NAME_OF_THE_SENSOR_COLUMN, append=True). "
            "If they follow each other in time, leave the labels out: frame.reset_index(drop=True)."
        )


def plain_side(side):
    """Return an index with its labels in their plain dtype.

    Dates and periods become datetime64 without a zone; there are no categories, intervals or objects.
    """
    import pandas

    if isinstance(side, pandas.MultiIndex):
        return side
    if isinstance(side, pandas.IntervalIndex):
        side = side.left.rename(side.name)
    if isinstance(side.dtype, pandas.CategoricalDtype) or side.dtype == object:
        side = pandas.Index(list(side), name=side.name)
    if side.dtype == object and pandas.api.types.infer_dtype(side, skipna=False) in ("date", "datetime"):
        side = pandas.to_datetime(side, utc=True)
    if hasattr(side, "to_timestamp"):
        side = side.to_timestamp()
    return side.tz_convert("UTC").tz_localize(None) if getattr(side, "tz", None) is not None else side


def has_times(side):
    """Return True for labels that are dates, periods, durations, or date texts."""
    side = plain_side(side)
    return side.dtype.kind in "Mm" or are_texts_of_dates(side)


def are_texts_of_dates(side):
    """Return True for labels that are texts of dates."""
    are_texts = side.dtype.kind not in "biufMm" and all(isinstance(value, str) for value in side)
    return are_texts and time_parsing.are_dates([*side])


def times_of(side):
    """Return times (T,) of labels as seconds, int64 or float64, or None.

    None: the labels are not times. Numbers are, if the side is named so, or if they rise or fall by unequal steps.
    """
    side = plain_side(side)
    if side.dtype.kind in "Mm":
        return exact_seconds(side.to_numpy())
    if side.dtype.kind in "iuf" and (role_of(side.name) == "time" or time_parsing.has_unequal_steps(side.to_numpy())):
        return exact_seconds(side.to_numpy()) if side.dtype.kind == "f" else time_parsing.seconds([*map(str, side)])
    return time_parsing.seconds(list(side)) if are_texts_of_dates(side) else None
