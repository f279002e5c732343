"""A table of values again, what was missing filled in: the lines, labels and order of the file that was read."""

import csv
import re

import numpy as np

from gpukit.errors import DataError, ParameterError
from gpukit.graphs.sheet import BLANKS, ParquetTable, open_table
from gpukit.graphs.table import lie_of
from gpukit.io.words import shown
from gpukit.persist import atomic_write

COMMENT = re.compile(r"^[#%]|[ \t]#")  # a label that a text, read again, would not have
SUFFIXES = (".csv", ".tsv", ".txt", ".parquet")


def is_table(path):
    """Whether a path that is written names a table, by its suffix."""
    return str(path).lower().endswith(SUFFIXES)


def write_completed(path, source, completed, observed, ids=None, layout=None, length=None):
    """Write the table in the file `source` to `path`, with what is missing filled in.

    completed (N, T): values by vertex; observed (N, T) bool: cells of these keep their spelling, to the letter; ids,
    layout, length: what the table was read with (table.read_table). Numbers are as short as gives them back in their
    own precision, and have no exponent. .parquet is written as Parquet, of numbers as float64, observed ones as they
    were read; other suffixes as text, separated as `source` is (by commas, if that is Parquet, or by a blank). The
    file appears whole or not at all. Raises DataError, ParameterError for Parquet without pyarrow.
    """
    table = open_table(source)
    if isinstance(table, ParquetTable):
        found, frame = lie_of(table, len(completed), ids, layout, length)
    else:
        found, frame = lie_of(table, len(completed), ids, layout, length, spelled=len(table.first) + 1)
    first = int(found.labels is not None)
    filled, seen = (part if found.layout == "rows" else part.T for part in (completed, observed))
    if str(path).lower().endswith(".parquet"):
        numbers = np.where(seen, table.numbers(frame.iloc[:, first:]), filled)
        return _write_parquet(path, table, found, frame, numbers)
    cells = np.array(frame, dtype=object)  # a copy: a frame may share what it must not change
    values = cells[:, first:]
    values[~seen] = [np.format_float_positional(number, trim="-") for number in filled[~seen]]
    _write_text(path, table, found, cells)


def _write_text(path, table, found, cells):
    """Write rows of words."""
    _refuse_comments(path, [*(found.labels or ()), *(table.first if found.header else ())])
    separator = getattr(table, "separator", ",")
    separator = " " if separator == BLANKS else separator
    with atomic_write(path) as aside, open(aside, "w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file, delimiter=separator, lineterminator="\n")
        if found.header:
            rows.writerow(table.first)
        rows.writerows(cells.tolist())


def _refuse_comments(path, labels):
    """DataError for a label that begins a comment where a text is read."""
    wrong = next((label for label in labels if COMMENT.search(label)), None)
    if wrong is not None:
        raise DataError(f"{path}: the label {shown(wrong)} would be a comment in a text. Write a file.parquet instead.")


def _write_parquet(path, table, found, frame, numbers):
    """Write a frame whose values are numbers (rows, columns)."""
    first = int(found.labels is not None)
    out = frame.iloc[:, :first].copy()
    names = table.first if found.header else [str(place) for place in range(frame.shape[1])]
    for place in range(numbers.shape[1]):
        out[first + place] = numbers[:, place]
    out.columns = [name or "index" for name in names]
    if not out.columns.is_unique:
        twice = out.columns[out.columns.duplicated()][0]
        raise DataError(f"{path}: Parquet names each column once, and {shown(twice)} comes twice. Write a file.csv.")
    try:
        with atomic_write(path) as aside:
            out.to_parquet(aside, index=False)
    except ImportError as error:
        raise ParameterError(f"{path}: Parquet is written by pyarrow, which is not there ({error}).") from None
