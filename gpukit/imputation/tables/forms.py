"""Frames and labelled arrays as an array with a row a vertex; and what was filled in, as it was handed in."""

from typing import NamedTuple

import numpy as np

from gpukit.base.arrays import aligned as matched
from gpukit.errors import DataError
from gpukit.graphs import labels
from gpukit.graphs.column_types import refill_frame, type_of_series, types_of_frame
from gpukit.graphs.layouts.alone import names_times
from gpukit.graphs.layouts.clocks import parts_of
from gpukit.graphs.layouts.filled import completed_as, completed_frame
from gpukit.graphs.layouts.long import long_of, roles_in, type_of_long
from gpukit.imputation.tables import readings, sides
from gpukit.io.arrays import as_frame, is_frame, is_series
from gpukit.io.sheet import MISSING, FrameTable
from gpukit.io.words import as_ids, is_number, shown

SHOWN = 3  # columns in a message


class Form(NamedTuple):
    """A tensor that was handed in with labels.

    tensor, mask  arrays with a row a vertex, in the order of `vertices`; mask may be None
    times         (T,) int64 seconds, or None where no side has any
    vertices      (N,) ids
    give          give(array of the tensor's shape, known): it in the form that was handed in; known: whether its cells
                  are those that were observed where they were (False: of deviations)
    notes         [text], what a user should know
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
    """The Form of a DataFrame (wide, either way, or long), a Series or an object with to_pandas; None for bare arrays.

    vertices: (N,) labels of the graph, N where it has none, None where there is no graph: the vertices are sorted then.
    labelled: whether the graph is a frame, which must have labels then. Raises DataError for labels that are not the
    graph's, and for what does not say which side the vertices are.
    """
    refuse_datasets(tensor)
    frame = as_frame(tensor)
    if is_series(frame):
        return series_form(frame, mask, vertices, labelled)
    if not is_frame(frame):
        return None
    if frame is not tensor and hasattr(tensor, "dims"):  # xarray's
        found = form_of(frame, mask, vertices, labelled)
        return found._replace(give=lambda array, known: tensor.copy(data=np.asarray(found.give(array, known))))
    if frame.columns.nlevels > 1:
        return leveled_form(frame, mask, vertices, labelled)
    if readings.is_stacked(frame):
        return stacked_form(frame, mask, vertices, labelled)
    found = readings.in_columns(frame)
    if found is not None:
        return readings_form(frame, found, mask, vertices)
    table = (
        FrameTable("the table", frame)
        if readings.is_numbered(frame.index) and frame.shape[1] >= 3 and len(frame)
        else None
    )
    roles = None if table is None else roles_in(table)
    if roles is not None:
        return long_form(table, frame, roles, mask, vertices)
    return wide_form(frame, mask, vertices, labelled)


def refuse_datasets(values):
    """DataError for xarray's Dataset, and a DataArray of more than two dimensions."""
    if hasattr(values, "data_vars"):
        name = next(iter(values.data_vars), "NAME")
        raise DataError(f"an xarray Dataset has several tables: give one of them, dataset[{name!r}].")
    if hasattr(values, "dims") and hasattr(values, "to_pandas") and len(values.dims) > 2:
        raise DataError(
            f"the DataArray has the dimensions {', '.join(map(str, values.dims))}: give it with one of times and one "
            "of sensors, array.stack(sensor=[...])."
        )


def series_form(series, mask, vertices, labelled):
    """The Form of a Series: a table of one column, or, with the graph's labels as its index, a value a vertex."""
    name = "value" if series.name is None else series.name
    mask = mask.to_frame(name) if is_series(mask) else mask
    found = form_of(series.to_frame(name), mask, vertices, labelled)

    def give(array, known):
        return found.give(array, known).iloc[:, 0].rename(series.name)

    return found._replace(give=give)


def leveled_form(frame, mask, vertices, labelled):
    """The Form of a frame whose columns have levels: those of the one level in which they differ are their labels."""
    levels = [frame.columns.get_level_values(at) for at in range(frame.columns.nlevels)]
    differing = [level for level in levels if level.nunique() > 1]
    timed = [at for at, level in enumerate(levels) if sides.has_times(level)]
    if len(differing) > 1 and timed:
        raise DataError(f"the table's columns have times in level {timed[0]}: give frame.stack({timed[0]}).")
    names = differing[0] if len(differing) == 1 else [str(one) for one in frame.columns]
    found = form_of(frame.set_axis(names, axis=1), mask, vertices, labelled)
    return found._replace(give=lambda array, known: found.give(array, known).set_axis(frame.columns, axis=1))


def stacked_form(frame, mask, vertices, labelled):
    """The Form of a frame whose index has levels: times in several of them, or sensors and times of readings."""
    known = set(map(str, vertices.tolist())) if isinstance(vertices, np.ndarray) else None
    times = readings.time_index(frame, known)
    if times is None:
        return readings_form(frame, readings.in_levels(frame, known), mask, vertices)
    mask = mask.set_axis(times) if hasattr(mask, "set_axis") and mask.index.equals(frame.index) else mask
    found = wide_form(frame.set_axis(times), mask, vertices, labelled)
    return found._replace(give=lambda array, known: found.give(array, known).set_axis(frame.index))


def readings_form(frame, found, mask, vertices):
    """The Form of rows of readings, see readings.unstacked."""
    refuse_mask(mask)
    values, seconds, ids, give, notes = readings.unstacked(frame, found, vertices)
    return Form(values, None, seconds, ids, give, notes, type_of_series(frame[found[0]]))


def refuse_mask(mask):
    """DataError for a mask of a table of readings."""
    if mask is not None:
        raise DataError("a table of readings has no mask: leave out the readings that are missing, or their values.")


def long_form(table, frame, roles, mask, vertices):
    """The Form of a table of readings."""
    refuse_mask(mask)
    known = vertices if isinstance(vertices, np.ndarray) else None
    long = long_of(table, *roles, known)
    readings.refuse_others(long.ids, vertices)
    if known is None:
        long = in_order(long)

    def give(array, known):
        if known:
            made = completed_as(long, array, np.isfinite(long.values))
        else:
            made = completed_frame(long, array, np.zeros(long.values.shape, bool), list).infer_objects()
        made = made.set_axis(frame.columns, axis=1)
        return made.set_axis(frame.index) if len(made) == len(frame) else made

    return Form(long.values, None, long.seconds, long.ids, give, types=type_of_long(table, long))


def in_order(long):
    """A Long with its sensors sorted."""
    order = np.argsort(long.ids, kind="stable")
    return long._replace(ids=long.ids[order], values=long.values[order], vertex=np.argsort(order)[long.vertex])


def wide_form(frame, mask, vertices, labelled):
    """The Form of times by sensors, or sensors by times."""
    rows = None
    if readings.is_numbered(frame.index) and frame.shape[1] > 1 and is_clock(frame.columns[0], frame.iloc[:, 0]):
        rows, frame = frame.index, frame.set_index(frame.columns[0])
    turned = sides.are_columns(frame, vertices)
    side, other = (frame.columns, frame.index) if turned else (frame.index, frame.columns)
    if labelled and not isinstance(vertices, np.ndarray) and not _counted(side):
        raise DataError("the tensor has labels and the graph's are not the same on both sides. Label rows and columns.")
    order, ids = order_of(side, vertices, turned)
    sides.refuse_repeats(other, sides.SIDES[not turned])
    refuse_words(frame)
    refuse_calendar(frame)
    array, seen = labels.numbers(without_signs(frame), "tensor", turned)[order], mask_of(mask, frame, turned, order)
    array = np.ascontiguousarray(array)
    types, observed = types_of_frame(frame, turned), is_observed(array, seen)

    def as_frame_lies(array):
        out = np.empty(array.shape, array.dtype)
        out[order] = array
        return out.T if turned else out

    def give(array, known):
        cells = as_frame_lies(array)
        if known:
            made = refill_frame(frame, cells, ~as_frame_lies(observed))
        else:
            made = frame.__class__(cells, index=frame.index, columns=frame.columns)
        return made if rows is None else made.reset_index().set_axis(rows)

    types = None if types is None else types.at(order)
    return Form(array, seen, sides.times_of(other), ids, give, sides.notes_on(other), types)


def is_observed(array, mask):
    """Return which cells of (N, T) values are observed; mask: (N,) or (N, T) as it was handed in, or None."""
    seen = np.isfinite(array)
    if mask is None or np.shape(mask) not in (array.shape, array.shape[:1]):
        return seen  # a mask of another shape is refused later
    mask = np.asarray(mask) == 1
    return seen & (mask if mask.ndim == 2 else mask[:, None])


def refuse_words(frame):
    """DataError for columns of nothing but words, by name."""
    words = {name: first_of_words(frame[name]) for name in frame.columns if frame[name].dtype.kind == "O"}
    words = {name: one for name, one in words.items() if one is not None}
    if words:
        told = ", ".join(f"{str(name)!r} ({shown(one)})" for name, one in list(words.items())[:SHOWN])
        names = ", ".join(map(repr, words)) if len(words) <= SHOWN else "[...]"
        raise DataError(
            f"the table has words, no readings, in {told}: leave such columns out, frame.drop(columns=[{names}]); "
            "times belong in the index, frame.index = pandas.to_datetime(...)."
        )


def without_signs(frame):
    """The frame with NaN in columns that hold nothing but signs of missing values, such as NA and ?."""
    empty = [name for name in frame.columns if frame[name].dtype.kind == "O" and says_nothing(frame[name])]
    frame = frame.copy(deep=False) if empty else frame
    for name in empty:
        frame[name] = np.nan
    return frame


def says_nothing(column):
    """Return True if every cell is missing or a word for missing."""
    return all(isinstance(one, str) and one.strip().lower() in MISSING for one in column.dropna())


def refuse_calendar(frame):
    """DataError for columns that are called year, month and so on, and are times, not readings."""
    names = list(map(str, frame.columns))
    parts = parts_of(names, frame.set_axis(range(len(names)), axis=1)) if readings.is_numbered(frame.index) else None
    if parts is not None:
        told, first = [names[place] for place in parts.places], ".assign(day=1)" * (len(parts.places) == 2)
        raise DataError(
            f"the table has times in {', '.join(told)}, and as columns they would be sensors: frame.index = "
            f"pandas.to_datetime(frame[{told}]{first}), and leave the columns out, frame.drop(columns={told})."
        )


def first_of_words(column):
    """The first word of a column whose cells are words that spell no number, or say nothing; None of another."""
    texts = [one.strip() for one in column.dropna() if isinstance(one, str)]
    texts = [one for one in texts if one.lower() not in MISSING]
    others = any(not isinstance(one, str) for one in column.dropna())
    return None if others or any(is_number(one, finite=False) for one in texts) else next(iter(texts), None)


def is_clock(name, column):
    """Whether the first column of a frame that is only counted holds the times."""
    return column.dtype.kind == "M" or (column.dtype.kind not in "biuf" and names_times(str(name)))


def order_of(side, vertices, turned):
    """((N,) places on a side of the vertices, their ids); DataError where labels are not the graph's."""
    names = list(map(str, side))
    if isinstance(vertices, np.ndarray):
        if not (_counted(side) and len(side) == len(vertices)):
            labels.check_same(names, list(map(str, vertices.tolist())), f"the tensor's {_axis(turned)}", "vertex")
        places = {name: place for place, name in enumerate(names)}
        return [places.get(str(one), at) for at, one in enumerate(vertices.tolist())], vertices
    ids = as_ids(names)
    if len(set(names)) < len(names):
        raise DataError(f"the tensor's {_axis(turned)} have a label twice; labels must differ.")
    order = np.argsort(ids, kind="stable") if vertices is None else np.arange(len(ids))
    return order, ids[order]


def mask_of(mask, frame, turned, order):
    """A mask, a frame matched by its labels, as an array with a row a vertex."""
    if is_frame(mask):
        mask = matched(tensor=frame, mask=mask)[1]
        mask = matched(tensor=frame.T, mask=mask.T)[1].T.to_numpy()
    elif mask is None:
        return None
    elif hasattr(mask, "index"):
        mask = matched(tensor=frame.T if turned else frame, mask=mask)[1].to_numpy()
    mask = np.asarray(mask)
    return (mask.T if turned and mask.ndim == 2 else mask)[order] if len(mask.shape) else mask


def _axis(turned):
    return "columns" if turned else "rows"


def _counted(index):
    return labels.counted(index)
