"""A long table, a line a reading: as values by sensor and time, and where each line stands among them."""

import warnings
from typing import NamedTuple

import numpy as np

from gpukit.errors import DataError, ParameterError
from gpukit.graphs.column_types import FLOAT, single, type_of_column, type_of_words
from gpukit.graphs.layouts import clocks
from gpukit.graphs.layouts import moments as spelled
from gpukit.graphs.layouts import roles as told
from gpukit.graphs.layouts.clocks import words_of
from gpukit.io.sheet import MISSING, UNKNOWN, FrameTable
from gpukit.io.words import as_ids, is_number, shown

SEVERAL = "Give each time of a sensor once; where clocks are set back, give times in UTC or with their offset."


class Long(NamedTuple):
    """A long table.

    roles    Roles; header: whether its first line names the columns
    header
    vertex   (R,) int64: each line's sensor, a place in ids
    time     (R,) int64: each line's time, a place in moments
    ids      (N,) int64 or str: those that were known, in their order, then others as they appear
    moments  [str] of length T: the times as they are spelled, rising
    seconds  (T,) int64, or None where times are no dates and no numbers
    values   (N, T) float64, NaN where there is no line, or one without a value
    frame    the table as a pandas DataFrame, columns 0 to C-1
    """

    roles: object
    header: bool
    vertex: np.ndarray
    time: np.ndarray
    ids: np.ndarray
    moments: list
    seconds: object
    values: np.ndarray
    frame: object


def roles_in(table, ids=None, layout=None, columns=None):
    """(Roles, header) of a sheet.Table that is long; None for one that is not.

    layout 'long', or columns (see roles.asked), say that it is; layout None: found out, by the names of its columns or
    by three columns of which one holds times that repeat. ids: of the graph, or None. DataError for a table that is
    said to be long and does not say what its columns are.
    """
    width = len(table.first)
    if columns is not None:
        found = told.asked(columns)
        most = max(*found.time, found.sensor, found.value)
        if most >= width:
            raise ParameterError(f"columns names {most + 1} columns, and {table.path} has {width}.")
        return found, has_header(table)
    if layout not in (None, "long") or (layout is None and not 3 <= width <= told.MOST_COLUMNS):
        return None
    header, known = has_header(table), None if ids is None else set(map(str, ids))
    found = None
    if header and not (known and known <= set(table.first)) and told.has_names(table.first):
        frame = table.frame(header, spelled=0 if table.named else width)
        if layout is None and width > 3 and told.is_one(table.first, frame):
            return None
        found = told.by_name(table.first, table.path, numeric(table), frame)
    if found is None and width == 3:
        found = told.by_looks(first_rows(table, header), known, header)
    if found is None and layout == "long":
        raise DataError(
            f"{table.path} does not say which of its {width:,} columns are time, sensor and value. Say so: --columns "
            "time,sensor,value (columns=), - for others."
        )
    return None if found is None else (found, header)


def has_header(table):
    """Whether no field of the first line is a number or a time."""
    return table.named or not any(is_number(word) or told.CLOCK.search(word) for word in table.first if word)


def numeric(table):
    """The places of columns whose second line is a number or nothing."""
    words = [*table.second, *[""] * (len(table.first) - len(table.second))]
    return {at for at, word in enumerate(words) if word.lower() in MISSING or is_number(word, finite=False)}


def first_rows(table, header):
    """The first lines of a table below its header, as words."""
    rows = table.frame(header, spelled=len(table.first)).head(told.FEW).astype(object)
    return [[word.strip() if isinstance(word, str) else "" for word in row] for row in rows.to_numpy().tolist()]


def long_of(table, roles, header, ids=None):
    """The Long of a sheet.Table; DataError for a line without a sensor or a time, a value that is no number, and
    different values of a sensor at one time."""
    frame = table.frame(header, spelled=0 if table.named else len(table.first))
    where = table.place
    vertex, ids = sensors(labels_of(table, frame[roles.sensor]), ids, lambda row: f"{table.path}, {where(row)}")
    time, moments, seconds = times(frame, roles.time, lambda row: f"{table.path}, {where(row)}")
    numbers = table.numbers(frame[[roles.value]]).ravel()
    values = pivoted(vertex, time, numbers, (len(ids), len(moments)), Named(ids, moments, table))
    return Long(roles, header, vertex, time, ids, moments, seconds, values, frame)


def labels_of(table, column):
    """A pandas Series of str: the labels in a column."""
    words = words_of(column)
    return words if column.dtype.kind in "biuf" else words.__class__(table.words(column), words.index)


def type_of_long(table, long):
    """Return the ColumnTypes of the values of a Long, None for float64: of a frame its column's dtype, of a text whole
    where no value is spelled with a point or an exponent."""
    column = long.frame[long.roles.value]
    if isinstance(table, FrameTable):
        one = type_of_column(column)
    else:
        numbers = table.numbers(column.to_frame()).ravel()
        seen = ~np.isnan(numbers)
        one = type_of_words(column[seen]) if (numbers[seen] % 1 == 0).all() else FLOAT
    return None if one == FLOAT else single(one)


def warn_of_others(table, long):
    """Warn of other columns of numbers in which some are missing: one column is filled in, and they stay as they
    are."""
    names = table.first if long.header else [f"column {at + 1}" for at in long.frame.columns]
    of_roles = {*long.roles.time, long.roles.sensor, long.roles.value}
    others = [names[at] for at in long.frame.columns if at not in of_roles and lacks_numbers(long.frame[at])]
    if others:
        lack = f"{', '.join(others[:4])} lack{'s' * (len(others) == 1)} values too"
        warnings.warn(
            f"{table.path}: {names[long.roles.value]} is filled in; {lack}, which stay missing. --columns (columns=) "
            "says which column is the values.",
            stacklevel=2,
        )


def lacks_numbers(column):
    """Whether a column has empty fields, and all others, as far as the first ones tell, are numbers."""
    empty = column.isna() | column.isin(["", *UNKNOWN])
    words = column[~empty].head(told.FEW)
    return bool(empty.any()) and len(words) > 0 and all(is_number(str(word)) for word in words)


def sensors(words, known, place):
    """((R,) places in ids, ids): known ones first, then others as they appear."""
    import pandas

    refuse_empty(words, "sensor", place)
    first = [] if known is None else list(map(str, known))
    order = pandas.Index(first).append(pandas.Index(words.unique())).unique()
    ids = as_ids(order.tolist())
    return order.get_indexer(words).astype(np.int64), ids


def times(frame, columns, place):
    """((R,) places in moments, moments, seconds (T,) int64 or None) of the columns that say when: dates and numbers
    rising, other words as they appear."""
    import pandas

    if len(columns) > 1:
        parts = clocks.parts_in(frame, columns)
        refuse_empty(words_of(frame[columns[0]]), "time", place)
        each, words = clocks.seconds(frame, parts, place), clocks.joined(frame, parts)
        seconds, first, places = np.unique(each, return_index=True, return_inverse=True)
        return places, words.iloc[first].tolist(), seconds
    words = words_of(frame[columns[0]])
    refuse_empty(words, "time", place)
    places, moments = pandas.factorize(words)
    seconds = spelled.seconds(list(moments))
    if seconds is None:
        return places.astype(np.int64), list(moments), None
    numbers = all(is_number(word) for word in moments)
    order = np.argsort(np.array(list(map(float, moments))) if numbers else seconds, kind="stable")
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return rank[places], [moments[at] for at in order], seconds[order]


def refuse_empty(words, what, place):
    """DataError for a line without a word."""
    empty = (words == "").to_numpy()
    if empty.any():
        raise DataError(f"{place(int(np.argmax(empty)))}: this reading has no {what}.")


class Named(NamedTuple):
    """What an error calls things: ids, moments, the table."""

    ids: np.ndarray
    moments: list
    table: object

    def refuse(self, vertex, time, one, other, values):
        """DataError for lines `one` and `other` with different values."""
        raise DataError(
            f"{self.table.path}, {self.table.place(other)}: sensor {shown(str(self.ids[vertex]))} at "
            f"{self.moments[time]} is {values[other]:g}, and {values[one]:g} in {self.table.place(one)}. {SEVERAL}"
        )


def pivoted(vertex, time, numbers, shape, named):
    """(N, T) of the numbers of lines; of lines with the same sensor and time the one that has a value."""
    values = np.full(shape, np.nan)
    rows = np.flatnonzero(~np.isnan(numbers))
    keys = vertex[rows] * shape[1] + time[rows]
    _, first, back = np.unique(keys, return_index=True, return_inverse=True)
    differs = numbers[rows] != numbers[rows[first]][back]
    if differs.any():
        other = rows[int(np.argmax(differs))]
        one = rows[first[back[int(np.argmax(differs))]]]
        named.refuse(vertex[other], time[other], one, other, numbers)
    values[vertex[rows], time[rows]] = numbers[rows]
    return values
