"""Tables of readings with the sensor, the time or both in the index: unstacked, and filled in row by row."""

import numpy as np

from gpukit.errors import DataError
from gpukit.graphs import labels
from gpukit.graphs.column_types import refill
from gpukit.graphs.layouts import clocks
from gpukit.graphs.layouts.alone import role_of
from gpukit.graphs.layouts.long import Named, pivoted, roles_in, sensors
from gpukit.imputation.tables.sides import are_whole, has_times, plain_side, times_of
from gpukit.io.sheet import FrameTable
from gpukit.io.times import as_seconds


def is_stacked(frame):
    """Return True for an index of several levels."""
    return frame.index.nlevels > 1


def is_numbered(index):
    """Return True for row numbers; some may be missing or repeat."""
    return index.name is None and index.dtype.kind in "iu"


def time_index(frame, known):
    """A DatetimeIndex of an index whose levels are times together (date and hour, year and month); else None."""
    import pandas

    levels = frame.index.to_frame(index=False)
    names = ["" if name is None else str(name) for name in frame.index.names]
    if known and any(known >= set(map(str, levels.iloc[:, at].unique())) for at in range(len(names))):
        return None
    levels.columns = range(len(names))
    parts = clocks.parts_of(names, levels)
    if parts is None or len(parts.places) < len(names):
        return None
    place = FrameTable("the table", frame).place
    return pandas.DatetimeIndex(clocks.seconds(levels, parts, place).astype("M8[s]"), name="time")


def in_levels(frame, known):
    """(value column, times as an index, sensors as a Series of str) of a frame with sensors and times in its index."""
    import pandas

    time = level_of_time(frame.index, known)
    if frame.shape[1] > 1:
        names = [at if name is None else name for at, name in enumerate(frame.index.names) if at != time]
        raise DataError(
            f"the table has a row a reading and {frame.shape[1]:,} columns: fill in one at a time, "
            f"frame[[{frame.columns[0]!r}]], or each column of each sensor as a series, frame.unstack({names})."
        )
    words = [clocks.words_of(pandas.Series(frame.index.get_level_values(at))) for at in range(frame.index.nlevels)]
    first, *others = (one for at, one in enumerate(words) if at != time)
    for other in others:
        first = first.str.cat(other, sep=", ")
    return frame.columns[0], frame.index.get_level_values(time), first


def level_of_time(index, known):
    """The place of the level that says when; DataError where that is not clear.

    known: labels of the graph, or None. By them first, by dates, by the levels' names, else the only one of numbers.
    """
    levels = [plain_side(index.get_level_values(at).unique()) for at in range(index.nlevels)]
    roles = [role_of(name) for name in index.names]
    signs = (
        [not (known and set(map(str, level)) <= known) for level in levels],
        [has_times(level) for level in levels],
        [role == "time" for role in roles],
        [role != "sensor" for role in roles],
        [level.dtype.kind in "iuf" for level in levels],
    )
    found = next((sign for sign in signs if sum(sign) == 1), None)
    if found is None:
        raise DataError(
            f"the index has {len(levels)} levels ({', '.join(map(str, index.names))}), and which one says when is not "
            "clear. Name them: frame.rename_axis(['sensor', 'time']), in their order."
        )
    return found.index(True)


def in_columns(frame):
    """Return (value column, times as an index, sensors) of a frame with sensors or times in a column and the others in
    its index, whose labels repeat; None for another."""
    import pandas

    if frame.index.is_unique or frame.shape[1] < 2 or is_numbered(frame.index):
        return None
    name = frame.index.name
    name = ("time" if has_times(frame.index) else "sensor") if name is None else str(name)
    if name in map(str, frame.columns):
        return None
    flat = frame.reset_index(names=name)
    found = roles_in(FrameTable("the table", flat))
    if found is None:
        return None
    roles, flat.columns = found[0], range(flat.shape[1])
    if roles.value == 0:
        return None
    if len(roles.time) > 1:
        parts = clocks.parts_in(flat, roles.time)
        times = pandas.DatetimeIndex(clocks.seconds(flat, parts, FrameTable("the table", frame).place).astype("M8[s]"))
    else:
        times = pandas.Index(flat[roles.time[0]])
    return frame.columns[roles.value - 1], times, clocks.words_of(flat[roles.sensor])


def unstacked(frame, found, vertices):
    """(values (N, T), seconds (T,) or None, ids (N,), give, notes) of a frame whose rows are readings.

    found: (value column, times, sensors) of its rows; vertices: as form_of. give fills in the frame's own rows.
    """
    column, times, words = found
    table = FrameTable("the table", frame)

    def place(row):
        return f"the table, {table.place(row)}"

    known = vertices if isinstance(vertices, np.ndarray) else None
    vertex, ids = sensors(words, known, place)
    refuse_others(ids, vertices)
    time, seconds, moments = places_in_time(times, place)
    numbers = labels.numbers(frame[[column]], "tensor", False).ravel()
    shape = len(ids), len(moments)
    values = pivoted(vertex, time, numbers.astype(np.float64), shape, Named(ids, moments, table))
    values = values.astype(np.float32) if numbers.dtype == np.float32 else values
    if known is None:
        order = np.argsort(ids, kind="stable")
        ids, values, vertex = ids[order], values[order], np.argsort(order)[vertex]

    def give(array, known):
        out, filled = frame.copy(), array[vertex, time]
        out[column] = refill(frame[column], filled, frame[column].isna().to_numpy()) if known else filled
        return out

    lacking = shape[0] * shape[1] - len(np.unique(vertex * shape[1] + time))
    note = f"{lacking:,} pairs of a sensor and a time have no row, and get none: frame.unstack() has them all."
    return values, seconds, ids, give, [note] if lacking else []


def refuse_others(ids, vertices):
    """DataError for sensors that a graph does not have."""
    count = len(vertices) if isinstance(vertices, np.ndarray) else vertices
    if count is not None and len(ids) > count:
        raise DataError(
            f"the readings are of {len(ids):,} sensors, {str(ids[-1])!r} among them, which the graph has not. Leave "
            "them out, or give the graph these labels."
        )


def places_in_time(times, place):
    """((R,) places in time, (T,) int64 seconds or None, [str] of length T) of the rows' times, an index."""
    import pandas

    missing = times.isna()
    if missing.any():
        raise DataError(f"{place(int(np.argmax(missing)))}: this reading has no time.")
    times = plain_side(times)
    places, moments = pandas.factorize(times, sort=times.dtype.kind in "iufMm" or hasattr(times, "to_timestamp"))
    moments = pandas.Index(moments)
    seconds = as_seconds(moments.to_numpy()) if are_whole(moments) else times_of(moments)
    if seconds is None or (np.diff(seconds) >= 0).all():
        return places, seconds, list(map(str, moments))
    order = np.argsort(seconds, kind="stable")
    return np.argsort(order)[places], seconds[order], [str(moments[at]) for at in order]
