"""A table of values as text: one row a vertex, or one column a vertex, with or without ids."""

import numpy as np

from gpukit.base import check_choice
from gpukit.datasets.graph_text import Table, as_ids, is_number, read_bytes
from gpukit.errors import DataError

LAYOUTS = (None, "rows", "columns")
WAYS = "--layout rows (layout='rows') for one row a vertex, --layout columns for one column a vertex"


def read_table(path, count, ids=None, layout=None, length=None):
    """((N, T) float64 with NaN where a field is empty or nan, ids (N,) or None) of a text file of numbers.

    count, ids: N and the ids (or None) of the graph. layout: 'rows' (one row a vertex), 'columns', or None: the side
    whose ids are the graph's, else the side that equals N. length: T where it is known. The first line is a header if
    it has words, or the graph's ids, or different whole numbers above a line with fractions, or is one line more than
    T. The first column is no values if it has words, no name, the graph's ids, or is one more than N or T. Raises
    DataError when no side, or both, could be the vertices.
    """
    check_choice("layout", layout, LAYOUTS)
    table = Table(read_bytes(path), path)
    known = None if ids is None else set(map(str, ids))
    header = _has_header(table, known)
    frame = table.frame(header)
    if not header and length is not None and len(frame) == length + 1 and len(table.first) >= count:
        header, frame = True, frame.iloc[1:]
    labels = _labels(table, frame, header, known, (count, length))
    names = {"rows": labels, "columns": table.first[labels is not None:] if header else None}
    if labels is not None:
        frame = frame.drop(columns=0)
        frame.columns = range(frame.shape[1])
    layout = layout or _layout(table, frame.shape, count, names, known)
    values = table.numbers(frame)
    values = values if layout == "rows" else np.ascontiguousarray(values.T)
    return values, None if names[layout] is None else as_ids(names[layout])


def _has_header(table, known):
    first, second = table.first, table.second
    if not all(map(is_number, first)):
        return not all(map(is_number, first[1:])) or not first[1:]
    if known is not None and known <= set(first):
        return True
    whole = all(word.isdecimal() for word in first) and len(set(first)) == len(first)
    return whole and any("." in word for word in second)


def _labels(table, frame, header, known, sides):
    """The first column as a list of str where it holds no values, else None."""
    count, length = sides
    column = frame[0]
    text = column.dtype.kind not in "biuf" and not all(is_number(str(word)) for word in column)
    unnamed = header and not table.first[0]
    words = column.astype(str).tolist()
    more = frame.shape[1] == count + 1 and len(frame) != count
    more |= len(frame) == count and length is not None and frame.shape[1] == length + 1
    if text or unnamed or more or (known is not None and known <= set(words)):
        return words
    return None


def _layout(table, shape, count, names, known):
    """'rows' or 'columns': which side of the table the vertices are."""
    rows, columns = shape
    if known is not None:
        named = [side for side in ("rows", "columns") if names[side] is not None and known <= set(names[side])]
        if len(named) == 1:
            return named[0]
    if (rows == count) == (columns == count):
        what, way = (("both could be the vertices", f"Say which: {WAYS}.") if rows == count else
                     ("neither is its vertices", "Give a table with one row, or one column, a vertex."))
        raise DataError(f"{table.path} has {rows:,} rows of {columns:,} values, and the graph {count:,} vertices: "
                        f"{what}. {way}")
    return "rows" if rows == count else "columns"
