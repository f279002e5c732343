"""Write the input table with imputed values in its layout."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from gpukit.errors import DataError
from gpukit.graphs.column_types import (
    BOOLEAN,
    WHOLE,
    boolean_words,
    refill,
    type_of_words,
)
from gpukit.graphs.columns import columns_of
from gpukit.graphs.table import firsts, label_set, long_of, ranks
from gpukit.io.records import check_word, csv_line
from gpukit.io.sheet import FrameTable, open_table
from gpukit.io.words import decimal_commas, decode, quote, with_comma, with_point
from gpukit.persist import atomic_write

SUFFIXES = (".csv", ".tsv", ".txt", ".parquet")


def is_table(path):
    """Return True if an output path has the suffix of a table."""
    return str(path).lower().endswith(SUFFIXES)


def write_completed(path, source, completed, observed, ids=None, layout=None, columns=None, alone=False, spelling=None):
    """Write the table of the file `source` to `path` with imputed values.

    Parameters
    ----------
    completed : (N, T)
        Values by vertex, from GraphImputer.
    observed : (N, T) bool
        Observed cells, which keep their exact spelling.
    ids, layout, columns
        Options with which the table was read (read_graph); ids: those of the vertices.
    alone : bool
        True if it was read without edges.
    spelling : Spelling or None
        None uses the dtype of completed.

    Numbers are written without exponents. A long table gets a line for each missing time of a sensor, see `line_order`.
    .parquet is written as Parquet: columns of Parquet in their dtype; those of a text as int64 or bool if all numbers
    are such, else as float64. Other suffixes are written as text with the separator of `source` (commas if that is
    Parquet, or a blank). The file is written atomically. Raises DataError.
    """
    table, as_parquet = open_table(source), str(path).lower().endswith(".parquet")
    spelling = Spelling(completed.dtype) if spelling is None else spelling

    def fill_typed(column, values, missing):
        return refill(column, np.where(missing, values, table.column(column)), missing)

    fill = fill_typed if as_parquet and isinstance(table, FrameTable) else spelling.fill
    roles, frame = columns_of(table, label_set(ids), None if alone else len(completed), layout, columns)
    if roles.layout == "long":
        out = completed_lines(long_of(table, roles, frame, ids), completed, observed, fill)
    else:
        filled, seen = (part if roles.layout == "rows" else part.T for part in (completed, observed))
        if not isinstance(table, FrameTable):
            frame = table.frame(roles.header, spelled=len(table.first) + 1)
        cells = {place: frame[place] for place in frame.columns}
        for index, place in enumerate(roles.values):
            cells[place] = fill(frame[place], filled[:, index], ~seen[:, index])
        out = frame.__class__(cells)
    if not as_parquet:
        return _write_text(path, table, roles, out)
    if not isinstance(table, FrameTable):
        for place in roles.values:
            out[place] = numbers_of_words(out[place])
    _write_parquet(path, table, roles.header, out)


class Spelling(NamedTuple):
    """Spelling of imputed numbers: shortest text of a dtype, within the bounds."""

    dtype: np.dtype
    minimum: float | None = None
    maximum: float | None = None

    def fill(self, column, values, missing):
        """Return the cells of a column of words, the missing ones spelled by their values (R,)."""
        cells = column.to_numpy(object, copy=True)
        cells[missing] = self.words(values[missing], boolean_words(column[~missing]))
        return cells

    def words(self, numbers, booleans=None):
        """Return numbers as [str].

        booleans: the words of False and True if the column holds these, or None.
        """
        if booleans is not None:
            return [booleans[int(number)] for number in numbers]
        low, high = (
            value if value is not None else sign * np.inf for value, sign in ((self.minimum, -1), (self.maximum, 1))
        )
        short = numbers.astype(self.dtype)
        words = [np.format_float_positional(value, trim="-") for value in short]
        for index, (word, number) in enumerate(zip(words, numbers.tolist())):
            if number % 1 == 0 or not low <= float(word) <= high:
                words[index] = np.format_float_positional(number, trim="-")
        return words


def numbers_of_words(words):
    """Return a column of words as int64 or bool if all are such, else as float64."""
    kind = type_of_words(words)
    if kind == BOOLEAN:
        return words.str.lower() == "true"
    numbers = words.astype(np.float64)
    return words.map(int) if kind == WHOLE and (numbers.abs() < 2.0**63).all() else numbers


def _write_text(path, table, roles, out):
    """Write a frame of words; DataError for labels that text cannot store."""
    others = {place: out[place] for place in out.columns if place not in roles.values}
    others = {place: column.astype(object).where(column.notna(), "") for place, column in others.items()}
    labels = {str(word) for column in others.values() for word in column} | {*(table.first if roles.header else ())}
    for label in filter(None, labels):
        check_word(label, f"{path}: the label")
    if roles.header and not any(table.first[1:] or table.first):
        raise DataError(
            f"{path}: the columns' names are blank ({quote(table.first[-1])}), and a text would read them as values. "
            "Write a file.parquet instead."
        )
    separator = getattr(table, "separator", ",")
    lines = zip(*(others.get(place, out[place]).tolist() for place in out.columns))
    with atomic_write(path) as aside, open(aside, "w", newline="", encoding="utf-8") as file:
        for line in [table.first, *lines] if roles.header else lines:
            file.write(csv_line(map(with_comma, map(str, line)) if table.commas else line, separator))
        file.writelines(f"{line}\n" for line in decode(table.blank_end).splitlines() if line)
        file.flush()
        comma = next(filter(with_point, labels), None)
        if comma is not None and decimal_commas(Path(aside).read_bytes(), separator)[1] != table.commas:
            raise DataError(
                f"{path}: a label such as {quote(comma)} would be read as a number with a decimal comma. Rename it, or "
                "write a file.parquet instead."
            )


def _write_parquet(path, table, header, out):
    """Write a frame under the column names of the table."""
    names = table.first if header else [str(place) for place in range(out.shape[1])]
    out.columns = [name or "index" for name in names]
    if not out.columns.is_unique:
        twice = out.columns[out.columns.duplicated()][0]
        raise DataError(f"{path}: Parquet names each column once, and {quote(twice)} comes twice. Write a file.csv.")
    with atomic_write(path) as aside:
        out.to_parquet(aside, index=False)


def completed_lines(long, completed, observed, fill):
    """Return the DataFrame of a Long with imputed values and added lines.

    Its columns are 0 to C-1. completed, observed (N, T): by long.ids and long.moments. fill: function of a column, its
    values and a mask of missing cells that returns the column's cells, see column_types.refill.
    """
    present = np.zeros(completed.shape, bool)
    present[long.vertex, long.time] = True
    vertices, times = np.nonzero(~present)
    vertex, time = np.concatenate([long.vertex, vertices]), np.concatenate([long.time, times])
    lines = np.append(np.arange(len(long.vertex)), np.zeros_like(vertices))  # cells of added lines are replaced
    column = long.frame[long.value].take(lines).reset_index(drop=True)
    out = append_lines(long, vertices, times).infer_objects()
    out[long.value] = fill(column, completed[vertex, time], ~observed[vertex, time])
    return out.take(line_order(long, vertex, time)).reset_index(drop=True)


def append_lines(long, vertices, times):
    """Return the lines followed by the added ones, whose values are missing.

    Other columns of added lines hold the common value of the sensor's lines, else of the time's lines, else nothing.
    """
    import pandas

    def tail(name, column):
        if name == long.columns.labels[0]:
            return fill_column(column, by_vertex, [str(value) for value in long.ids[vertices].tolist()])
        if name in long.columns.time:
            return column.take(by_time)
        for places, rows in ((long.vertex, by_vertex), (long.time, by_time)):
            codes = pandas.factorize(column)[0]
            if name != long.value and (codes == codes[firsts(places, places.max() + 1)[places]]).all():
                return column.take(np.maximum(rows, 0)).reset_index(drop=True).where(pandas.Series(rows >= 0))
        return column.iloc[:0].reindex(range(len(vertices)))

    by_vertex, by_time = firsts(long.vertex, len(long.ids))[vertices], firsts(long.time, len(long.moments))[times]
    parts = ([column, *([tail(name, column)] * bool(len(vertices)))] for name, column in long.frame.items())
    return pandas.DataFrame(
        {name: pandas.concat(columns, ignore_index=True) for name, columns in zip(long.frame, parts)}
    )


def fill_column(column, rows, others):
    """Return a column's cells at rows, `others` where row is -1."""
    import pandas

    cells = column.take(np.maximum(rows, 0)).reset_index(drop=True)
    if (rows >= 0).all():
        return cells
    words = pandas.Series(others)
    words = pandas.to_numeric(words) if column.dtype.kind in "iuf" else words
    return cells.where(pandas.Series(rows >= 0), words)


def line_order(long, vertex, time):
    """Return the order in which lines and added lines are written, whose vertices and times are vertex and time.

    In a table sorted by time, or by sensor and then time, added lines are inserted; otherwise they are at the end.
    """
    count = len(long.vertex)
    later = np.arange(len(vertex)) >= count
    first = firsts(long.vertex, len(long.ids))
    rank = ranks(np.where(first < 0, len(vertex), first))  # in order of appearance
    if is_rising(long.time):
        return np.lexsort((rank[vertex] if is_rising(long.time * len(rank) + rank[long.vertex]) else later, time))
    if is_rising(rank[long.vertex] * len(long.moments) + long.time):
        return np.lexsort((time, rank[vertex]))
    return np.concatenate([np.arange(count), count + np.lexsort((vertex[count:], time[count:]))])


def is_rising(keys):
    """Return True if keys never decrease."""
    return bool((np.diff(keys) >= 0).all())
