"""A table of values again, what was missing filled in: the lines, labels and order of the file that was read."""

import csv
from typing import NamedTuple

import numpy as np

from gpukit.errors import ParameterError
from gpukit.graphs.layouts.filled import completed_frame
from gpukit.graphs.layouts.long import long_of, roles_in
from gpukit.graphs.sheet import BLANKS, ParquetTable, open_table
from gpukit.graphs.table import lie_of
from gpukit.persist import atomic_write

SUFFIXES = (".csv", ".tsv", ".txt", ".parquet")


def is_table(path):
    """Whether a path that is written names a table, by its suffix."""
    return str(path).lower().endswith(SUFFIXES)


class Lay(NamedTuple):
    """What a table was read with (read_graph): ids of the graph, or of the values where it has none; layout; length;
    columns; count: N, None where no graph told the sides of the table."""

    ids: object = None
    layout: str | None = None
    length: int | None = None
    columns: object = None
    count: int | None = None


def write_completed(path, source, completed, observed, lay):
    """Write the table in the file `source` to `path`, with what is missing filled in.

    completed (N, T): values by vertex; observed (N, T) bool: cells of these keep their spelling, to the letter; lay: a
    Lay. Numbers are as short as gives them back in their
    own precision, and have no exponent. A long table has a line more for each time of a sensor that had none, as
    layouts/filled.py says. .parquet is written as Parquet, of text with
    numbers as float64; other suffixes as text, separated as `source` is (by commas, if that is Parquet, or by a blank).
    The file appears whole or not at all. Raises DataError, ParameterError for Parquet without pyarrow.
    """
    table, as_parquet = open_table(source), str(path).lower().endswith(".parquet")
    roles = roles_in(table, lay.ids if lay.count is not None else None, lay.layout, lay.columns)
    if roles is not None:
        return _write_long(path, table, long_of(table, *roles, lay.ids), completed, observed, as_parquet)
    spelled = 1 if isinstance(table, ParquetTable) else len(table.first) + 1
    found, frame = lie_of(table, lay.count, lay.ids, lay.layout, lay.length, spelled=spelled)
    first = int(found.labels is not None)
    filled, seen = (part if found.layout == "rows" else part.T for part in (completed, observed))
    if as_parquet:
        return _write_parquet(path, table, found, frame, np.asarray(filled))
    cells = frame.to_numpy(object)
    values = cells[:, first:]
    values[~seen] = _spelled(filled[~seen])
    _write_text(path, table, found.header, cells)


def _spelled(numbers):
    """[str] of numbers."""
    return [np.format_float_positional(number, trim="-") for number in numbers]


def _write_long(path, table, long, completed, observed, as_parquet):
    """Write a long table."""
    if not as_parquet:
        out = completed_frame(long, completed, observed, _spelled).astype(object)
        return _write_text(path, table, long.header, out.where(out.notna(), "").to_numpy())
    out = completed_frame(long, completed, observed, list)
    out[long.roles.value] = table.numbers(out[[long.roles.value]]).ravel()
    _to_parquet(path, table, long.header, out)


def _write_text(path, table, header, cells):
    """Write rows of words."""
    separator = getattr(table, "separator", ",")
    separator = " " if separator == BLANKS else separator
    with atomic_write(path) as aside, open(aside, "w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file, delimiter=separator, lineterminator="\n")
        if header:
            rows.writerow(table.first)
        rows.writerows(cells.tolist())


def _write_parquet(path, table, found, frame, filled):
    """Write a frame whose values are numbers."""
    first = int(found.labels is not None)
    out = frame.iloc[:, :first].copy()
    for place in range(filled.shape[1]):
        out[first + place] = filled[:, place]
    _to_parquet(path, table, found.header, out)


def _to_parquet(path, table, header, out):
    """Write a frame with the columns 0 to C-1 under the names of the table."""
    names = table.first if header else [str(place) for place in range(out.shape[1])]
    out.columns = [name or "index" for name in names]
    try:
        with atomic_write(path) as aside:
            out.to_parquet(aside, index=False)
    except ImportError as error:
        raise ParameterError(f"{path}: Parquet is written by pyarrow, which is not there ({error}).") from None
