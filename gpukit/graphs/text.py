"""Read graphs from text: edge lists, and adjacencies as tables of numbers."""

import numpy as np

from gpukit.errors import DataError
from gpukit.graphs.adjacency import as_adjacency
from gpukit.io import sheet, words

ENDS = {  # names of the ends of an edge in headers
    *("source", "target", "from", "to", "src", "dst", "node1", "node2", "fromnodeid", "tonodeid", "start", "end"),
}
SIZES = "a square table has as many rows as columns, a list two or three columns (vertex, vertex, weight or distance)"


def read_graph_text(path):
    """Return (adjacency, ids or None) of a text or Parquet file.

    Text may be compressed (.gz, .bz2, .xz, .zip). Two or three columns (separated by space, tab or comma) are an edge
    list: two vertices and a weight (default 1). Ids are whole numbers (then ascending) or text (in order of
    appearance). Four columns or more are an adjacency with the same number of rows; its header, if any, holds the ids.
    Lines that begin with # or % are comments; a first line of words is a header. Raises DataError with the line for
    other content, and as as_adjacency does.
    """
    table = sheet.open_table(path)
    if len(table.first) not in (2, 3):
        array, ids = square_of(table)
        return as_adjacency(array, names=ids), ids
    edges, weights, ids = pairs_of(table, "edge", "weight")
    if len(ids) == 1:
        only = words.quote(str(ids[0]))
        raise DataError(f"{table.path} joins no two vertices: all its edges are from {only} to itself.")
    return as_adjacency((edges, weights), vertices=len(ids), names=ids), ids


def is_number(word):
    """Return True for an empty field or a number, nan included."""
    return not word or words.is_number(word, finite=False)


def pairs_of(table, what, number):
    """Return ((E, 2) indices in ids, (E,) numbers or None, ids) of a sheet.Table.

    The table has two or three columns. what, number: names of a line and of its number in messages.
    """
    header = _list_header(table)
    frame = table.frame(header, ids=(0, 1))
    if frame.shape[1] not in (2, 3) or not table.first[0]:
        raise DataError(f"{table.path}: each {what} is two vertices, or two and a {number}; quote names with blanks.")
    numbers = table.numbers(frame[[2]]).ravel() if frame.shape[1] == 3 else None
    hole = (frame[[0, 1]].isna() | (frame[[0, 1]] == "")).to_numpy().any(axis=1)
    hole = hole if numbers is None else hole | np.isnan(numbers)
    if hole.any():
        row = int(np.argmax(hole))
        needs = f"two vertices{'' if numbers is None else f' and a {number}'}"
        raise DataError(f"{table.path}, {table.place(row)}: {what} {row + 1:,} is incomplete; each needs {needs}.")
    places, ids = _number_vertices(table, frame)
    return places, numbers, ids


def _list_header(table):
    """Return True if an edge list's first line names its columns."""
    first, second = table.first, table.second
    if table.named:
        return True
    if len(first) == 3:
        return not is_number(first[2])
    if any(map(is_number, first)):
        return False
    return all(map(is_number, second)) or {word.lower() for word in first} <= ENDS


def _number_vertices(table, frame):
    """Return ((E, 2) indices in ids, ids) of a frame's first two columns.

    Integer ids ascend; text is in order of appearance.
    """
    import pandas

    ends = frame[[0, 1]]
    if not all(kind.kind == "i" for kind in ends.dtypes):
        names = [table.words(ends[column]) for column in (0, 1)]
        places, ids = pandas.factorize(np.array(names, dtype=object).T.ravel())
        if not all(map(words.is_integer, ids)):
            return places.reshape(-1, 2), words.text_array(ids.tolist(), "vertex")
        ends = ids.astype(np.int64)[places].reshape(-1, 2)
    ids, places = np.unique(np.asarray(ends), return_inverse=True)
    return places.reshape(-1, 2), ids


def square_of(table):
    """Return ((N, N) float64, ids or None) of a square sheet.Table.

    A header and a first column may hold ids.
    """
    if len(table.first) > table.most_rows() + 1:  # parsing takes a millisecond a column
        raise DataError(f"{table.path} has {len(table.first):,} columns and fewer rows: {SIZES}.")
    has_header = table.named or not table.first[0] or not all(map(is_number, table.first))
    frame = table.frame(has_header, spelled=1)
    if not has_header and len(frame) == frame.shape[1] + 1:  # a header of numbers
        has_header, frame = True, table.frame(True, spelled=1)
    ids = table.first if has_header else None
    if len(frame) == frame.shape[1] - 1:  # a first column of ids
        ids = table.first[1:] if has_header else table.words(frame[0])  # the header has their exact spelling
        frame = frame.drop(columns=0)
    rows, columns = frame.shape
    if rows != columns or columns < 2:
        raise DataError(f"{table.path} has {rows:,} rows of {columns:,} columns: {SIZES}.")
    if ids is not None:
        words.refuse_repeated(list(map(str, ids)), f"{table.path} names vertex")
        ids = words.as_ids(list(map(str, ids)), f"{table.path}: vertex")
    return table.numbers(frame), ids
