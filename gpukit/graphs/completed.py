"""A table of values again, what was missing filled in: the lines, labels and order of the file that was read."""

import csv

import numpy as np

from gpukit.errors import ParameterError
from gpukit.graphs.sheet import BLANKS, ParquetTable, open_table
from gpukit.graphs.table import lie_of
from gpukit.persist import atomic_write

SUFFIXES = (".csv", ".tsv", ".txt", ".parquet")


def is_table(path):
    """Whether a path that is written names a table, by its suffix."""
    return str(path).lower().endswith(SUFFIXES)


def write_completed(path, source, completed, observed, ids=None, layout=None, length=None):
    """Write the table in the file `source` to `path`, with what is missing filled in.

    completed (N, T): values by vertex; observed (N, T) bool: cells of these keep their spelling, to the letter; ids,
    layout, length: what the table was read with (table.read_table). Numbers are as short as gives them back in their
    own precision, and have no exponent. .parquet is written as Parquet, of text with
    numbers as float64; other suffixes as text, separated as `source` is (by commas, if that is Parquet, or by a blank).
    The file appears whole or not at all. Raises DataError, ParameterError for Parquet without pyarrow.
    """
    table = open_table(source)
    if isinstance(table, ParquetTable):
        found, frame = lie_of(table, len(completed), ids, layout, length)
    else:
        found, frame = lie_of(table, len(completed), ids, layout, length, spelled=len(table.first) + 1)
    first = int(found.labels is not None)
    filled, seen = (part if found.layout == "rows" else part.T for part in (completed, observed))
    if str(path).lower().endswith(".parquet"):
        return _write_parquet(path, table, found, frame, np.asarray(filled))
    cells = frame.to_numpy(object)
    values = cells[:, first:]
    values[~seen] = [np.format_float_positional(number, trim="-") for number in filled[~seen]]
    _write_text(path, table, found, cells)


def _write_text(path, table, found, cells):
    """Write rows of words."""
    separator = getattr(table, "separator", ",")
    separator = " " if separator == BLANKS else separator
    with atomic_write(path) as aside, open(aside, "w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file, delimiter=separator, lineterminator="\n")
        if found.header:
            rows.writerow(table.first)
        rows.writerows(cells.tolist())


def _write_parquet(path, table, found, frame, filled):
    """Write a frame whose values are numbers."""
    first = int(found.labels is not None)
    out = frame.iloc[:, :first].copy()
    names = table.first if found.header else [str(place) for place in range(frame.shape[1])]
    for place in range(filled.shape[1]):
        out[first + place] = filled[:, place]
    out.columns = [name or "index" for name in names]
    try:
        with atomic_write(path) as aside:
            out.to_parquet(aside, index=False)
    except ImportError as error:
        raise ParameterError(f"{path}: Parquet is written by pyarrow, which is not there ({error}).") from None
