"""A table of values again, what was missing filled in: the lines, labels and order of the file that was read."""

import csv
import re

import numpy as np

from gpukit.errors import DataError, ParameterError
from gpukit.graphs.layouts.filled import completed_frame
from gpukit.graphs.layouts.long import long_of, roles_in
from gpukit.graphs.table import lie_of
from gpukit.io.sheet import BLANKS, ParquetTable, open_table
from gpukit.io.words import decoded, shown, with_comma
from gpukit.persist import atomic_write

COMMENT = re.compile(r"^[#%]|[ \t]#")  # a label that a text, read again, would not have
SUFFIXES = (".csv", ".tsv", ".txt", ".parquet")


def is_table(path):
    """Whether a path that is written names a table, by its suffix."""
    return str(path).lower().endswith(SUFFIXES)


def write_completed(path, source, completed, observed, ids=None, layout=None, length=None, columns=None, alone=False):
    """Write the table in the file `source` to `path`, with what is missing filled in.

    completed (N, T): values by vertex; observed (N, T) bool: cells of these keep their spelling, to the letter; ids,
    layout, length, columns: what the table was read with (read_graph), ids those of the vertices; alone: whether no
    edges told its sides. Numbers are as short as gives them back in their
    own precision, and have no exponent. A long table has a line more for each time of a sensor that had none, as
    layouts/filled.py says. .parquet is written as Parquet, of numbers as float64, observed ones as they
    were read; other suffixes as text, separated as `source` is (by commas, if that is Parquet, or by a blank). The
    file appears whole or not at all. Raises DataError, ParameterError for Parquet without pyarrow.
    """
    table, as_parquet = open_table(source), str(path).lower().endswith(".parquet")
    roles = roles_in(table, None if alone else ids, layout, columns)
    if roles is not None:
        return _write_long(path, table, long_of(table, *roles, ids), completed, observed, as_parquet)
    spelled = 1 if isinstance(table, ParquetTable) else len(table.first) + 1
    found, frame = lie_of(table, None if alone else len(completed), ids, layout, length, spelled=spelled)
    filled, seen = (part if found.layout == "rows" else part.T for part in (completed, observed))
    if as_parquet:
        numbers = np.where(seen, table.numbers(frame.iloc[: found.rows, found.values]), filled)
        return _write_parquet(path, table, found, frame.iloc[: found.rows], numbers)
    cells = np.array(frame, dtype=object)  # a copy: a frame may share what it must not change
    rows, columns = np.nonzero(~seen)
    cells[rows, np.array(found.values)[columns]] = _spelled(filled[~seen])
    _write_text(path, table, found.header, cells, found.labels or ())


def _spelled(numbers):
    """[str] of numbers."""
    return [np.format_float_positional(number, trim="-") for number in numbers]


def _write_long(path, table, long, completed, observed, as_parquet):
    """Write a long table."""
    if not as_parquet:
        out = completed_frame(long, completed, observed, _spelled).astype(object)
        cells = out.where(out.notna(), "").to_numpy()
        return _write_text(path, table, long.header, cells, map(str, cells[:, 0].tolist()))
    out = completed_frame(long, completed, observed, list)
    out[long.roles.value] = table.numbers(out[[long.roles.value]]).ravel()
    _to_parquet(path, table, long.header, out)


def _write_text(path, table, header, cells, labels):
    """Write rows of words, of which `labels` are the first; DataError for labels that a text would lose."""
    _refuse_comments(path, [*labels, *(table.first if header else ())])
    if header and not any(name.strip() for name in table.first[1:]):
        raise DataError(
            f"{path}: the columns' names are blank ({shown(table.first[-1])}), and a text would read them as values. "
            "Write a file.parquet instead."
        )
    separator = getattr(table, "separator", ",")
    separator = " " if separator == BLANKS else separator
    with atomic_write(path) as aside, open(aside, "w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file, delimiter=separator, lineterminator="\n")
        lines = cells.tolist()
        for line in [table.first, *lines] if header else lines:
            rows.writerow([with_comma(str(word)) for word in line] if table.commas else line)
        file.writelines(f"{line}\n" for line in decoded(table.blank_end).splitlines() if line)


def _refuse_comments(path, labels):
    """DataError for a label that begins a comment where a text is read."""
    wrong = next((label for label in labels if COMMENT.search(label)), None)
    if wrong is not None:
        raise DataError(f"{path}: the label {shown(wrong)} would be a comment in a text. Write a file.parquet instead.")


def _write_parquet(path, table, found, frame, numbers):
    """Write a frame whose values are numbers (rows, columns)."""
    columns = dict(zip(found.values, numbers.T))
    out = frame.__class__({place: columns.get(place, frame[place]) for place in frame.columns})
    _to_parquet(path, table, found.header, out)


def _to_parquet(path, table, header, out):
    """Write a frame with the columns 0 to C-1 under the names of the table."""
    names = table.first if header else [str(place) for place in range(out.shape[1])]
    out.columns = [name or "index" for name in names]
    if not out.columns.is_unique:
        twice = out.columns[out.columns.duplicated()][0]
        raise DataError(f"{path}: Parquet names each column once, and {shown(twice)} comes twice. Write a file.csv.")
    try:
        with atomic_write(path) as aside:
            out.to_parquet(aside, index=False)
    except ImportError as error:
        raise ParameterError(f"{path}: Parquet is written by pyarrow, which is not there ({error}).") from None
