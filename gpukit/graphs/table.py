"""A table of values as text or Parquet: one row a vertex, or one column a vertex, with or without ids."""

from typing import NamedTuple

import numpy as np

from gpukit.base import check_choice
from gpukit.errors import DataError
from gpukit.graphs.column_types import BOOLEAN, FLOAT, WHOLE, ColumnTypes, type_of_words, types_of_frame
from gpukit.graphs.layouts import apart, clocks, moments
from gpukit.graphs.layouts.alone import SIDES, are_dates, names_times, refuse_labels, role_of, side_of
from gpukit.graphs.layouts.roles import CLOCK
from gpukit.graphs.text import is_number
from gpukit.io.sheet import MISSING, FrameTable, Table, open_table
from gpukit.io.words import as_ids, refuse_repeated

WAYS = "--layout rows (layout='rows') for one row a vertex, --layout columns for one column a vertex"


class Values(NamedTuple):
    """values (N, ...), NaN where missing; mask, ids (N,), times, types (column_types.ColumnTypes): None where the file
    has none."""

    values: np.ndarray
    mask: np.ndarray | None = None
    ids: np.ndarray | None = None
    times: np.ndarray | None = None
    types: object = None


class Lie(NamedTuple):
    """How a table lies in a file.

    header   whether its first line is one
    labels   [str] what its lines are of, or None; head: the words of its header above the values, or None
    layout   'rows' (one a vertex) or 'columns'
    values   the places of columns that are values; rows: how many lines are
    seconds  (rows,) int64 where several columns say when, else None
    kept     the places of columns that are neither values nor times
    """

    header: bool
    labels: list | None
    head: list | None
    layout: str
    values: list
    rows: int
    seconds: object = None
    kept: tuple = ()


def read_table(path, count=None, ids=None, layout=None, length=None):
    """Values (N, T) float64, NaN where a field is empty or nan, of a file of numbers; times (T,) where its labels are
    dates, or numbers below a header that calls them times.

    path: also a sheet.Table. count, ids: N and the ids (or None) of the graph; without a graph None, and ids
    may hold labels of vertices: layouts/alone.py tells the sides then. layout: 'rows' (one row a vertex), 'columns', or
    None: the side whose ids are the graph's or whose size is N. length: T where it is known. The first line is a header
    if it has words, or the graph's ids, or different whole numbers above a line with fractions, or those and one line
    more than N or T. The first column is no values if it has words, no name, the graph's ids, or is one more than N or
    T. Raises DataError when no side, or both, could be the vertices.
    """
    table = path if isinstance(path, Table) else open_table(path)
    found, frame = lie_of(table, count, ids, layout, length)
    names = {"rows": found.labels, "columns": found.head}
    apart.warn_of_kept(table.path, [_names(table, found.header)[place] for place in found.kept])
    values = table.numbers(frame.iloc[: found.rows, found.values])
    values = values if found.layout == "rows" else np.ascontiguousarray(values.T)
    own, other = names[found.layout], names["columns" if found.layout == "rows" else "rows"]
    clock = found.layout == "columns" and found.header and table.first[0] and names_times(table.first[0])
    times = found.seconds
    if times is None and other and (are_dates(other) or clock or (found.layout == "rows" and apart.are_years(other))):
        times = moments.seconds(other)
    refuse_repeated(own or (), f"{table.path} names the {found.layout.removesuffix('s')}")
    types = types_in(table, found, frame, values)
    return Values(values, None, None if own is None else as_ids(own), times, types)


def types_in(table, found, frame, values):
    """Return the ColumnTypes of the values (N, T) of a Lie, or None: Parquet's of its columns, a text's of its sensors.

    A sensor of a text is whole if no observed value is spelled with a point or an exponent; one without any
    is as all others are.
    """
    by_vertex = found.layout == "columns"
    if isinstance(table, FrameTable):
        return types_of_frame(frame.iloc[: found.rows, found.values], by_vertex)
    seen = ~np.isnan(values)
    kept = seen.any(axis=1)
    some = np.flatnonzero(kept & ((values % 1 == 0) | ~seen).all(axis=1))
    if not len(some):
        return None
    words = table.frame(found.header, [found.values[at] for at in some] if by_vertex else len(table.first) + 1)
    words = words.iloc[: found.rows][found.values]
    types = (FLOAT, WHOLE, BOOLEAN)
    codes = np.zeros(len(values), np.int64)
    for at in some:
        codes[at] = types.index(type_of_words((words.iloc[:, at] if by_vertex else words.iloc[at])[seen[at]]))
    if len(np.unique(codes[kept])) == 1:
        codes[:] = codes[kept][0]
    return ColumnTypes(types, codes[:, None]) if codes.any() else None


def lie_of(table, count=None, ids=None, layout=None, length=None, spelled=1):
    """(Lie, all of a sheet.Table as a frame) by the rules of read_table; spelled: columns that stay text."""
    check_choice("layout", layout, (None, *SIDES))
    if count is None:
        return _lie_alone(table, ids, layout, spelled)
    known = None if ids is None else set(map(str, ids))
    header = _has_header(table, known)
    frame = table.frame(header, spelled=spelled)
    if not header and _are_names(table.first) and _one_more(frame.shape, count, length):
        header, frame = True, table.frame(True, spelled=spelled)
    labels = _labels(table, frame, header, known, (count, length))
    names = {"rows": labels, "columns": table.first[labels is not None :] if header else None}
    shape = frame.shape[0], frame.shape[1] - (labels is not None)
    side, values = layout or _layout(table, shape, count, names, known), list(range(labels is not None, frame.shape[1]))
    return Lie(header, labels, names["columns"], side, values, len(frame)), frame


def _lie_alone(table, ids, layout, spelled):
    """(Lie, frame) of a table that no graph tells the sides of."""
    known = None if ids is None else set(map(str, ids))
    header = _has_header(table, None) or _names_sensors(table, known)
    frame = table.frame(header, spelled=spelled)
    words = table.words(frame[0])
    found = _lie_in_rows(table, frame, words, layout, known) if header else None
    found = found or _lie_in_columns(table, frame, words, (layout, header, known))
    if found is not None:
        return found, frame
    labels = _first_labels(table.first, words, header, known)
    head = table.first[labels is not None :] if header else None
    name = table.first[0] if header else None
    side = side_of(table.path, labels, head, layout, known, name)
    values = list(range(labels is not None, frame.shape[1]))
    return Lie(header, labels, head, side, values, len(frame)), frame


def _lie_in_rows(table, frame, words, layout, known):
    """The Lie of a table whose columns are times behind those that say what each line is of; None of another."""
    span = apart.times_from(table.first) if layout in (None, "rows") else None
    if span is None or are_dates(words) or (known and layout is None and set(table.first[slice(*span)]) <= known):
        return None
    first, end = span
    labels = apart.label_of({at: table.words(frame[at]) for at in range(first)}, known)
    if apart.are_years(table.first[first:end]) and _texts(labels) is None:  # ids of sensors, above numbers
        return None
    return Lie(True, labels, table.first[first:end], "rows", list(range(first, end)), len(frame))


def _first_labels(names, words, header, known):
    """The words of the first column where it holds labels or times; None where it holds values.

    A sensor may have the name of the index, which is the first column.
    """
    name = names[0]
    if header and known and name in known and name not in names[1:]:
        return None
    if header and role_of(name) == "sensor" and len(set(words)) == len(words) and all(map(str.isdecimal, words)):
        return words
    return words if (header and names_times(name)) or are_dates(words) else _texts(words)


def _lie_in_columns(table, frame, words, given):
    """Return the Lie of a table with sensor columns and others, or times in several columns; None for another.

    given: (layout, header, known labels of sensors).
    """
    layout, header, known = given
    if layout not in (None, "columns"):
        return None
    names = _names(table, header)
    found = apart.apart_of(names, frame, known or ())
    body, seconds = frame.iloc[: found.rows], None
    if found.parts is not None:
        words, timed = clocks.joined(body, found.parts).tolist(), found.parts.places
        seconds = clocks.seconds(body, found.parts, lambda row: f"{table.path}, {table.place(row)}")
    else:
        timed = (found.time or 0,)
        as_read = timed == (0,) and frame[0].dtype.kind == "O"
        words = words[: found.rows] if as_read else clocks.words_of(body[timed[0]]).tolist()
    timed_apart = seconds is not None or found.time is not None
    labels = words if timed_apart else _first_labels(names, words, header, known)
    clock = timed_apart or (labels is not None and ((header and names_times(names[0])) or are_dates(words)))
    others = {*found.kept, *(timed if labels is not None else ())}
    values = [place for place in range(frame.shape[1]) if place not in others]
    if clock and layout is None:
        apart.refuse_readings(table.path, names, body, timed, values)
    elif labels is not None and layout is None:
        apart.refuse_lines(table.path, names, body, values)
    if found.parts is None and found.time is None and not found.kept and found.rows == len(frame):
        return None
    if not values:
        raise DataError(f"{table.path} has no column of numbers.")
    if layout is None and not timed_apart and not (known and known & {names[place] for place in values}):
        refuse_labels(table.path, names[0] if header else None, labels)
    head = [names[place] for place in values] if header else None
    return Lie(header, labels, head, "columns", values, found.rows, seconds, found.kept)


def _names(table, header):
    """What messages call the columns of a table."""
    return table.first if header else [f"column {place + 1}" for place in range(len(table.first))]


def _texts(words):
    """words, or None where all are numbers or missing."""
    return None if all(is_number(word) or word.lower() in MISSING for word in words) else words


def _has_header(table, known):
    first, second = table.first, table.second
    if table.named:
        return True
    if not any(first) and not is_number(second[0]):
        raise DataError(f"{table.path}: the first line names no column. Name them there, or take the line away.")
    if known is not None and known <= set(first):
        return True
    if first[0] and names_times(first[0]) and _is_time(second[0]) and not _is_time(first[0]):
        return True
    alike = len(first) == len(second) and all(map(_is_alike, first, second))
    if alike and any(map(_is_time, first)) and any(map(is_number, filter(None, first))):
        return _are_names(first) and any("." in word for word in second)
    if not all(is_number(word) or word.lower() in MISSING for word in first[1:]) or (
        not is_number(first[0]) and is_number(second[0])
    ):
        return True
    return _are_names(first) and any("." in word for word in second)


def _names_sensors(table, known):
    """True when the first line has different labels of known sensors behind its first field, and the second has not."""
    first, second = table.first[1:], table.second[1:]
    return bool(known and first and set(first) <= known and len(set(first)) == len(first) and not set(second) <= known)


def _is_alike(first, second):
    """Whether a word of the first line is what the word below it is: a number, a time, or neither."""
    kinds = [(not word or is_number(word), _is_time(word)) for word in (first, second)]
    return kinds[0] == kinds[1]


def _is_time(word):
    """Whether a word looks like a time, also without signs (20200131)."""
    return bool(CLOCK.search(word) or (len(word) > 7 and moments.compact([word]) is not None))


def _are_names(words):
    """True for different whole numbers; the first word may be anything but a number with a fraction."""
    whole = all(word.isdecimal() for word in words[1:]) and len(set(words)) == len(words)
    return whole and (words[0].isdecimal() or not words[0] or not is_number(words[0]))


def _one_more(shape, count, length):
    """True when a table has a line too many for N or T."""
    rows, columns = shape
    side = (count, count + 1)
    return (rows == count + 1 and columns not in side) or (
        length is not None and rows == length + 1 and columns in side
    )


def _labels(table, frame, header, known, sides):
    """The first column as a list of str where it holds no values, else None."""
    count, length = sides
    words = table.words(frame[0])
    text = _texts(words) is not None
    unnamed = header and not table.first[0]
    more = frame.shape[1] == count + 1 and len(frame) != count
    more |= len(frame) == count and length is not None and frame.shape[1] == length + 1
    if text or unnamed or more or (known is not None and known <= set(words)):
        return words
    return None


def _layout(table, shape, count, names, known):
    """'rows' or 'columns': which side of the table the vertices are."""
    rows, columns = scores = [_score(size, count, names[side], known) for side, size in zip(SIDES, shape)]
    if rows != columns:
        return SIDES[int(columns > rows)]
    what, way = (
        ("both could be the vertices", f"Say which: {WAYS}.")
        if any(scores)
        else ("neither is its vertices", "Give a table with one row, or one column, a vertex.")
    )
    raise DataError(
        f"{table.path} has {shape[0]:,} rows of {shape[1]:,} values, and the graph {count:,} vertices: {what}. {way}"
    )


def _score(size, count, names, known):
    """How much speaks for a side of the table being the vertices: its ids, its size, ids with others among them.

    The last weighs little where ids are numbers: a header 0, 1, 2, ... of times holds the ids of many a graph.
    """
    named = names is not None and known is not None and known <= set(names)
    alike = 1 if named and all(one.isdecimal() for one in known) else 2
    return named * alike + 2 * (size == count)
