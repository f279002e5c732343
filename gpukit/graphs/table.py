"""A table of values as text or Parquet: one row a vertex, or one column a vertex, with or without ids."""

from typing import NamedTuple

import numpy as np

from gpukit.base import check_choice
from gpukit.errors import DataError
from gpukit.graphs.layouts import moments
from gpukit.graphs.layouts.alone import SIDES, are_dates, names_times, side_of
from gpukit.graphs.text import is_number
from gpukit.io.sheet import MISSING, Table, open_table
from gpukit.io.words import as_ids, refuse_repeated

WAYS = "--layout rows (layout='rows') for one row a vertex, --layout columns for one column a vertex"


class Values(NamedTuple):
    """values (N, ...), NaN where missing; mask, ids (N,), times: None where the file has none."""

    values: np.ndarray
    mask: np.ndarray | None = None
    ids: np.ndarray | None = None
    times: np.ndarray | None = None


class Lie(NamedTuple):
    """How a table lies in a file: whether its first line is a header; the words of its first column where these are no
    values, and of its header above the values, or None; layout 'rows' (one a vertex) or 'columns'."""

    header: bool
    labels: list | None
    head: list | None
    layout: str


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
    values = table.numbers(frame if found.labels is None else frame.drop(columns=0))
    values = values if found.layout == "rows" else np.ascontiguousarray(values.T)
    own, other = names[found.layout], names["columns" if found.layout == "rows" else "rows"]
    clock = found.layout == "columns" and found.header and table.first[0] and names_times(table.first[0])
    times = moments.seconds(other) if other and (are_dates(other) or clock) else None
    refuse_repeated(own or (), f"{table.path} names the {found.layout.removesuffix('s')}")
    return Values(values, None, None if own is None else as_ids(own), times)


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
    return Lie(header, labels, names["columns"], layout or _layout(table, shape, count, names, known)), frame


def _lie_alone(table, ids, layout, spelled):
    """(Lie, frame) of a table that no graph tells the sides of."""
    header = _has_header(table, None)
    frame = table.frame(header, spelled=spelled)
    words = _words(frame)
    labels = words if (header and names_times(table.first[0])) or are_dates(words) else _texts(words)
    head = table.first[labels is not None :] if header else None
    known = None if ids is None else set(map(str, ids))
    return Lie(header, labels, head, side_of(table.path, labels, head, layout, known)), frame


def _words(frame):
    """The first column as [str]."""
    return ["" if word is None or word != word else str(word).strip() for word in frame[0]]


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
    if not all(is_number(word) or word.lower() in MISSING for word in first[1:]) or (
        not is_number(first[0]) and is_number(second[0])
    ):
        return True
    return _are_names(first) and any("." in word for word in second)


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
    words = _words(frame)
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
