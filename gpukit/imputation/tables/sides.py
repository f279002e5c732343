"""Sides of a frame: the time axis, and times of its labels."""

import numpy as np

from gpukit.errors import DataError
from gpukit.graphs import time_parsing
from gpukit.graphs.columns import REPEATED, role_of
from gpukit.graphs.labels import counted
from gpukit.io.times import exact_seconds
from gpukit.io.words import shown


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
    return ", ".join(shown(str(one)) for one in side[:2]) + (", ..." if len(side) > 2 else "")


def can_follow(side):
    """Return True for labels that may be times.

    These are dates, numbers that rise or fall, row numbers, or any labels if the side is named as times.
    """
    side = plain_side(side)
    if counted(side) or has_times(side) or role_of(side.name) == "time":
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
    if different > 1 and len(side) >= REPEATED * different:
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
    are_texts = side.dtype.kind not in "biufMm" and all(isinstance(one, str) for one in side)
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
