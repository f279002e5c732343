"""Read tables from text or Parquet: values, wide or long; edge lists; adjacencies.

A wide table has one vertex per row or column, a long one one reading per line.
"""

import re
import warnings
from typing import NamedTuple

import numpy as np

from gpukit.errors import DataError
from gpukit.graphs import time_parsing
from gpukit.graphs.adjacency import as_adjacency
from gpukit.graphs.column_types import (
    BOOLEAN,
    FLOAT,
    WHOLE,
    ColumnTypes,
    single_type,
    type_of_column,
    type_of_words,
    types_of_frame,
)
from gpukit.graphs.columns import (
    COUNTS,
    columns_of,
    labels_of,
    refuse_words,
    role_of,
    sensors_of,
    warn_of_kept,
    words_of,
)
from gpukit.io.arrays import normalize_name
from gpukit.io.sheet import MISSING, FrameTable, Table, open_table
from gpukit.io.words import as_ids, is_integer, is_number, quote, refuse_repeated, text_array

ENDS = {  # names of the ends of an edge in headers
    *("source", "target", "from", "to", "src", "dst", "node1", "node2", "fromnodeid", "tonodeid", "start", "end"),
}
NUMBERS = {  # names of the numbers of pairs in headers
    "weight": {"weight", "similarity", "correlation"},
    "distance": {"distance", "dist", "cost", "length", "km", "metres", "meters", "miles"},
}
SIZES = "a square table has as many rows as columns, a list two or three columns (vertex, vertex, weight or distance)"
FINER = re.compile(r"\d{16}|[.,]\d{7}")  # times that may differ by less than float64 or a microsecond
SEVERAL = "Give each time of a sensor once; where clocks are set back, give times in UTC or with their offset."


class Values(NamedTuple):
    """Values (N, ...) of a file, NaN where missing, and optional columns.

    mask, ids (N,), times, types (column_types.ColumnTypes): None if the file has none. has_offset: whether the times
    have an offset from UTC, None if this is unknown.
    """

    values: np.ndarray
    mask: np.ndarray | None = None
    ids: np.ndarray | None = None
    times: np.ndarray | None = None
    types: object = None
    has_offset: bool | None = None


def read_table(path, count=None, ids=None, layout=None, columns=None):
    """Return the Values (N, T) float64 of a file of numbers.

    Empty fields and nan are NaN. times (T,): if labels are dates, or numbers below a header that names them times.
    path: also a sheet.Table. count, ids: N and the ids (or None) of the graph; without a graph count is None, and ids
    may hold labels of vertices. layout: 'rows' (one row per vertex), 'columns', 'long' or None; columns: see
    columns.parse_option.
    """
    table = path if isinstance(path, Table) else open_table(path)
    roles, frame = columns_of(table, label_set(ids), count, layout, columns)
    if roles.layout == "long":
        known = None if count is None else np.arange(count) if ids is None else ids
        long = long_of(table, roles, frame, known)
        refuse_others(table, long, count, ids)
        has_offset = None if long.seconds is None else time_parsing.have_offset(long.moments)
        return Values(long.values, None, long.ids, long.seconds, type_of_long(table, long), has_offset)
    if roles.kept and not roles.values:
        refuse_words(table, roles, frame)
    warn_of_kept(table, roles)
    values = table.numbers(frame[list(roles.values)])
    values = values if roles.layout == "rows" else np.ascontiguousarray(values.T)
    labels = labels_of(table, frame, roles) if roles.layout == "rows" else sensors_of(table, roles)
    refuse_repeated(labels, f"{table.path} names the {roles.layout.removesuffix('s')}")
    types, times = types_in(table, roles, frame, values), times_of(table, frame, roles)
    has_offset = None if times is None else time_parsing.have_offset(first_time(table, frame, roles))
    return Values(values, None, as_ids(labels) if labels else None, times, types, has_offset)


def label_set(ids):
    """Return the labels of vertices as a set of str, without an empty one, which names no column."""
    return frozenset() if ids is None else frozenset(map(str, ids)) - {""}


def first_time(table, frame, roles):
    """Return the first time of a wide table as [str], a date and its clock joined."""
    if roles.layout == "rows":
        return sensors_of(table, roles)[:1]
    return [" ".join(words) for words in zip(*(words_of(frame[index][:1]) for index in roles.time))]


def times_of(table, frame, roles):
    """Return the times of a wide table as seconds (T,), or None."""
    if roles.layout == "rows":
        head = sensors_of(table, roles)
        has_times = time_parsing.are_dates(head) or time_parsing.are_years(head)
        return time_parsing.seconds(head, roles.order) if has_times else None
    if not roles.time:
        return None
    columns = [words_of(frame[index]).tolist() for index in roles.time]
    name = table.first[roles.time[0]] if roles.header else None
    words, are_numbers = columns[0], all(map(is_number, columns[0]))
    is_uneven = are_numbers and time_parsing.has_unequal_steps(np.array(words, np.float64))
    if not (roles.order or len(columns) > 1 or role_of(name) == "time" or is_uneven or time_parsing.are_dates(words)):
        return None
    seconds = seconds_of(columns, roles.order, lambda row: place_of(table, row))
    if seconds is None:
        shown_words = ", ".join(map(quote, words[:2]))
        warnings.warn(
            f"{table.path}: {shown_words}, ... are no times that are known: lines count as in order, at equal steps, "
            "where neighbouring values are alike. Write them as 2005-09-06 18:00.",
            stacklevel=2,
        )
    return seconds


def seconds_of(columns, order, place):
    """Return combined time columns [[str]] as seconds (R,).

    None if one column holds no times. Raises DataError for a line whose time differs in format from the first one.
    place: function that describes a row.
    """
    result = time_parsing.combine_columns(columns, order)
    if result is not None or (len(columns) == 1 and time_parsing.combine_columns([columns[0][:1]], order) is None):
        return result
    rows = list(zip(*columns))
    alone = [[[value] for value in row] for row in rows]
    pairs = [[[*pair] for pair in zip(rows[0], row)] for row in rows]
    parts = enumerate(alone + pairs)
    row = next((index for index, part in parts if time_parsing.combine_columns(part, order) is None), 0) % len(rows)
    raise DataError(
        f"{place(row)}: {quote(' '.join(rows[row]))} is no time like the others. Correct or remove the line."
    )


def place_of(table, row):
    """Return the position of a row, for messages."""
    return f"{table.path}, {table.place(int(row))}"


def types_in(table, roles, frame, values):
    """Return the ColumnTypes of the values (N, T) of a wide table, or None.

    They are those of Parquet's columns or of a text's sensors. A sensor of a text is whole if no observed value has a
    decimal point or an exponent; one without observed values is like the others if these agree.
    """
    by_vertex = roles.layout == "columns"
    if isinstance(table, FrameTable):
        return types_of_frame(frame[list(roles.values)], by_vertex)
    seen = ~np.isnan(values)
    is_kept = seen.any(axis=1)
    indices = np.flatnonzero(is_kept & (~seen | np.isfinite(values) & (values == np.floor(values))).all(axis=1))
    if not len(indices):
        return None
    columns = [roles.values[index] for index in indices] if by_vertex else roles.values
    words = table.frame(roles.header, columns, others=False)
    types = (FLOAT, WHOLE, BOOLEAN)
    codes = np.zeros(len(values), np.int64)
    for index in indices:
        codes[index] = types.index(
            type_of_words((words[roles.values[index]] if by_vertex else words.iloc[index])[seen[index]])
        )
    if len(np.unique(codes[is_kept])) == 1:
        codes[:] = codes[is_kept][0]
    return ColumnTypes(types, codes[:, None]) if codes.any() else None


class Long(NamedTuple):
    """Long table.

    columns  columns.Columns
    vertex   (R,) int64: each line's sensor, an index in ids
    time     (R,) int64: each line's time, an index in moments
    ids      (N,) int64 or str: known ones in their order, then others by appearance
    moments  [str] of length T: the times as spelled, ascending
    seconds  (T,), or None if times are neither dates nor numbers
    values   (N, T) float64, NaN for missing lines and values
    frame    the table as a pandas DataFrame, columns 0 to C-1
    """

    columns: object
    vertex: np.ndarray
    time: np.ndarray
    ids: np.ndarray
    moments: list
    seconds: object
    values: np.ndarray
    frame: object

    @property
    def value(self):
        """Position of the value column."""
        return self.columns.values[0]


def long_of(table, roles, frame, ids=None):
    """Return the Long of a sheet.Table by its Columns.

    ids: known ones, which come first. Raises DataError for a line without a sensor or a time, an invalid value, and
    different values of a sensor at one time.
    """
    import pandas

    words = pandas.Series(labels_of(table, frame, roles))
    refuse_empty(table, words, "sensor")
    order = pandas.Index([] if ids is None else list(map(str, ids))).append(pandas.Index(words.unique())).unique()
    vertex, ids = order.get_indexer(words).astype(np.int64), as_ids(order.tolist())
    time, labels, seconds = times(table, frame, roles)
    numbers = table.numbers(frame[list(roles.values)]).ravel()
    values = pivot(vertex, time, numbers, (ids, labels, table))
    return Long(roles, vertex, time, ids, labels, seconds, values, frame)


def times(table, frame, roles):
    """Return ((R,) indices of times, times [str], (T,) seconds or None).

    Dates and numbers ascend; other times are in order of appearance.
    """
    import pandas

    columns = [words_of(frame[index]) for index in roles.time]
    refuse_empty(table, columns[0], "time")
    words = columns[0].str.cat(columns[1:], sep=" ") if len(columns) > 1 else columns[0]
    places, labels = pandas.factorize(words)
    first = firsts(places, len(labels))
    columns = [column.iloc[first].tolist() for column in columns]
    seconds = seconds_of(columns, roles.order, lambda row: place_of(table, first[row]))
    if seconds is None:
        return places, list(labels), None
    keys = np.array(list(map(float, labels))) if time_parsing.is_seconds(list(labels)) else seconds
    finer = [FINER.search(label) is not None for label in labels]
    _, first, which = np.unique(
        np.rec.fromarrays((keys, np.where(finer, np.arange(len(labels)), -1))), return_index=True, return_inverse=True
    )
    return which.ravel()[places], [labels[index] for index in first], seconds[first]


def firsts(places, count):
    """Return the first line of each index, (count,), else -1."""
    out = np.full(count, -1, np.int64)
    out[places[::-1]] = np.arange(len(places))[::-1]
    return out


def ranks(keys):
    """Return the rank (n,) of each key among the sorted ones."""
    return np.argsort(np.argsort(keys, kind="stable"))


def refuse_empty(table, words, what):
    """Raise DataError for a line without a word."""
    empty = (words == "").to_numpy()
    if empty.any():
        raise DataError(f"{place_of(table, np.argmax(empty))}: this reading has no {what}.")


def pivot(vertex, time, numbers, context):
    """Return the numbers of lines as (N, T), NaN where missing.

    Of lines with the same sensor and time, the one with a value is taken; DataError if they have different values.
    context: (ids, times, table).
    """
    ids, labels, table = context
    values = np.full((len(ids), len(labels)), np.nan)
    rows = np.flatnonzero(~np.isnan(numbers))
    _, first, inverse = np.unique(vertex[rows] * len(labels) + time[rows], return_index=True, return_inverse=True)
    differs = numbers[rows] != numbers[rows[first]][inverse]
    if differs.any():
        other, one = rows[int(np.argmax(differs))], rows[first[inverse[int(np.argmax(differs))]]]
        raise DataError(
            f"{place_of(table, other)}: sensor {quote(str(ids[vertex[other]]))} at {labels[time[other]]} is "
            f"{numbers[other]:g}, and {numbers[one]:g} in {table.place(one)}. {SEVERAL}"
        )
    values[vertex[rows], time[rows]] = numbers[rows]
    return values


def refuse_others(table, long, count, ids):
    """Raise DataError for a sensor that an unlabelled graph cannot have."""
    if count is not None and ids is None and len(long.ids) > count:
        raise DataError(
            f"{table.path} names sensor {str(long.ids[count])!r}, and the graph's vertices have no labels: they are 0 "
            f"to {count - 1:,}. Give the graph labels, in a header or a list of edges by name."
        )


def type_of_long(table, long):
    """Return the ColumnTypes of the values of a Long, None for float64.

    For a frame it is its column's dtype; a text is whole if no value has a decimal point or an exponent.
    """
    column = long.frame[long.value]
    if isinstance(table, FrameTable):
        kind = type_of_column(column)
    else:
        are_whole = (long.values[~np.isnan(long.values)] % 1 == 0).all()
        words = column.drop_duplicates()
        kind = type_of_words(words[~words.str.strip().str.lower().isin(MISSING)]) if are_whole else FLOAT
    return None if kind == FLOAT else single_type(kind)


def read_graph_text(path):
    """Return (adjacency, ids or None) of a text or Parquet file.

    Text may be compressed (.gz, .bz2, .xz, .zip). Two or three columns (separated by space, tab or comma) are an edge
    list: two vertices and a weight (default 1), in this order or as the header names them. Ids are whole numbers (then
    ascending) or text (in order of appearance). Four columns or more are an adjacency with the same number of rows; its
    header, if any, holds the ids, and a first column of ids the order of the rows. Lines that begin with # or % are
    comments; a first line of words is a header. Raises DataError with the line for other content, and as as_adjacency
    does.
    """
    table = open_table(path)
    if len(table.first) not in (2, 3) and not named_pairs(table.first, "weight"):
        array, ids = square_of(table)
        return as_adjacency(array, names=ids), ids
    edges, weights, ids = pairs_of(table, "edge", "weight")
    if len(ids) == 1:
        only = quote(str(ids[0]))
        raise DataError(f"{table.path} joins no two vertices: all its edges are from {only} to itself.")
    return as_adjacency((edges, weights), vertices=len(ids), names=ids), ids


def is_number_or_empty(word):
    """Return True for an empty field or a number, nan included."""
    return not word or is_number(word, finite=False)


def named_pairs(names, number):
    """Return the positions of a list's two vertices and of their number, if any, by the names [str] of its columns.

    () if the names are not those of two vertices, or in a table of more columns not that of the number. number: its
    name, a key of NUMBERS.
    """
    words = [normalize_name(name) for name in names]
    ends = [index for index, word in enumerate(words) if word in ENDS]
    rest = [index for index, word in enumerate(words) if index not in ends and word not in COUNTS]
    called = [index for index in rest if words[index] in NUMBERS[number]][:1]
    if len(ends) != 2 or (len(words) > 3 and not called):
        return ()
    return (*ends, *(called or rest))


def pairs_of(table, what, number):
    """Return ((E, 2) indices in ids, (E,) numbers or None, ids) of a sheet.Table.

    The table has two or three columns, or more with names. what, number: names of a line and of its number in messages.
    """
    columns = list(named_pairs(table.first, number))
    header = len(table.first) > 3 or _list_header(table)
    frame = table.frame(header, ids=columns[:2] or (0, 1))
    columns = columns or [*range(frame.shape[1])]
    if len(columns) not in (2, 3) or not table.first[columns[0]]:
        raise DataError(f"{table.path}: each {what} is two vertices, or two and a {number}; quote names with blanks.")
    _refuse_other_number(table, header, columns, number)
    ends, rest = frame[columns[:2]], frame[columns[2:]]
    numbers = None if rest.empty else table.numbers(rest).ravel()
    hole = (ends.isna() | (ends == "")).to_numpy().any(axis=1)
    hole = hole if numbers is None else hole | np.isnan(numbers)
    if hole.any():
        row = int(np.argmax(hole))
        needs = f"two vertices{'' if numbers is None else f' and a {number}'}"
        raise DataError(f"{table.path}, {table.place(row)}: {what} {row + 1:,} is incomplete; each needs {needs}.")
    places, ids = _number_vertices(table, ends)
    return places, numbers, ids


def _refuse_other_number(table, header, columns, number):
    """Raise DataError if a list's header names distances where weights are wanted, or weights for distances."""
    name = table.first[columns[2]] if header and len(columns) == len(table.first) == 3 else ""
    kind = next((kind for kind, names in NUMBERS.items() if normalize_name(name) in names), number)
    if kind != number:
        options = {"weight": "--edges (edges=)", "distance": "--distances (distances=)"}
        raise DataError(
            f"{table.path}: the column {name!r} seems to hold {kind}s, not {number}s as {options[number]} "
            f"takes: the larger a weight is, the more alike its vertices are. Use {options[kind]}, or name the column "
            f"{number}."
        )


def _list_header(table):
    """Return True if an edge list's first line names its columns."""
    first, second = table.first, table.second
    if table.named:
        return True
    if len(first) == 3:
        return not is_number_or_empty(first[2])
    if any(map(is_number_or_empty, first)):
        return False
    return all(map(is_number_or_empty, second)) or {word.lower() for word in first} <= ENDS


def _number_vertices(table, ends):
    """Return ((E, 2) indices in ids, ids) of a frame of two columns.

    Integer ids ascend; text is in order of appearance.
    """
    import pandas

    if not all(kind.kind == "i" for kind in ends.dtypes):
        names = [table.words(ends[column]) for column in ends]
        places, ids = pandas.factorize(np.array(names, dtype=object).T.ravel())
        if not all(map(is_integer, ids)):
            return places.reshape(-1, 2), text_array(ids.tolist(), "vertex")
        ends = ids.astype(np.int64)[places].reshape(-1, 2)
    ids, places = np.unique(np.asarray(ends), return_inverse=True)
    return places.reshape(-1, 2), ids


def _in_order(table, frame, ids):
    """Return the rows of a square table in the order of ids [str]; those numbered 0 to N-1 stay.

    Raises DataError for other ids in the first column.
    """
    rows = [word.strip() for word in table.words(frame[0])]
    names = [str(name).strip() for name in ids]
    if rows in (names, [*map(str, range(len(names)))]):
        return frame
    refuse_repeated(rows, f"{table.path} names a row")
    places = {name: place for place, name in enumerate(rows)}
    known = set(names)
    if (odd := next((name for name in rows if name not in known), None)) is not None:
        raise DataError(f"{table.path}: a row is of {quote(odd)}, and no column is. Give both sides the same labels.")
    return frame.iloc[[places[name] for name in names]].reset_index(drop=True)


def square_of(table):
    """Return ((N, N) float64, ids or None) of a square sheet.Table.

    A header and a first column may hold ids.
    """
    if len(table.first) > table.most_rows() + 1:  # parsing takes a millisecond a column
        raise DataError(f"{table.path} has {len(table.first):,} columns and fewer rows: {SIZES}.")
    has_header = table.named or not table.first[0] or not all(map(is_number_or_empty, table.first))
    frame = table.frame(has_header, spelled=1)
    if not has_header and len(frame) == frame.shape[1] + 1:  # a header of numbers
        has_header, frame = True, table.frame(True, spelled=1)
    ids = table.first if has_header else None
    if len(frame) == frame.shape[1] - 1:  # a first column of ids
        ids = table.first[1:] if has_header else table.words(frame[0])  # the header has their exact spelling
        frame = _in_order(table, frame, ids).drop(columns=0)
    rows, columns = frame.shape
    if rows != columns or columns < 2:
        raise DataError(f"{table.path} has {rows:,} rows of {columns:,} columns: {SIZES}.")
    if ids is not None:
        refuse_repeated(list(map(str, ids)), f"{table.path} names vertex")
        ids = as_ids(list(map(str, ids)), f"{table.path}: vertex")
    return table.numbers(frame), ids
