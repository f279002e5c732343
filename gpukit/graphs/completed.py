"""A table of values again, what was missing filled in: the lines, labels and order of the file that was read."""

from typing import NamedTuple

import numpy as np

from gpukit.errors import DataError, ParameterError
from gpukit.graphs.column_types import BOOLEAN, FLOAT, boolean_words, refill
from gpukit.graphs.layouts.filled import completed_as, completed_frame
from gpukit.graphs.layouts.long import long_of, roles_in, type_of_long
from gpukit.graphs.table import lie_of, types_in
from gpukit.io.records import check_word, csv_line
from gpukit.io.sheet import BLANKS, FrameTable, ParquetTable, open_table
from gpukit.io.words import decimal_commas, decoded, shown, with_comma, with_point
from gpukit.persist import atomic_write

SUFFIXES = (".csv", ".tsv", ".txt", ".parquet")


def is_table(path):
    """Whether a path that is written names a table, by its suffix."""
    return str(path).lower().endswith(SUFFIXES)


def write_completed(
    path, source, completed, observed, ids=None, layout=None, length=None, columns=None, alone=False, spelling=None
):
    """Write the table in the file `source` to `path`, with what is missing filled in.

    completed (N, T): values by vertex, as GraphImputer gives them; observed (N, T) bool: cells of these keep their
    spelling, to the letter; ids, layout, length, columns: what the table was read with (read_graph), ids those of the
    vertices; alone: whether it was read without edges; spelling: a Spelling (None: in the dtype of completed). Numbers
    have no exponent. A long table has a line more for each time of a sensor that had none, as layouts/filled.py says.
    .parquet is written as Parquet: columns of Parquet in their dtype, those of a text as int64 or bool where all
    numbers are such, else as float64; other suffixes as text, separated as `source` is (by commas, if that is Parquet,
    or by a blank). The file appears whole or not at all. Raises DataError, ParameterError for Parquet without pyarrow.
    """
    table, as_parquet = open_table(source), str(path).lower().endswith(".parquet")
    spelling = Spelling(completed.dtype) if spelling is None else spelling
    roles = roles_in(table, None if alone else ids, layout, columns)
    if roles is not None:
        return _write_long(path, table, long_of(table, *roles, ids), completed, observed, as_parquet, spelling)
    spelled = 1 if isinstance(table, ParquetTable) else len(table.first) + 1
    found, frame = lie_of(table, None if alone else len(completed), ids, layout, length, spelled=spelled)
    filled, seen = (part if found.layout == "rows" else part.T for part in (completed, observed))
    if as_parquet:
        return _write_parquet(path, table, found, frame, filled, ~seen)
    body, cells = frame.iloc[: found.rows], np.array(frame, dtype=object)  # a copy: a frame may share its cells
    for at, place in enumerate(found.values):
        lacking = np.flatnonzero(~seen[:, at])
        cells[lacking, place] = spelling.words(filled[lacking, at], boolean_words(body[place][seen[:, at]]))
    _write_text(path, table, found.header, cells, found.labels or ())


class Spelling(NamedTuple):
    """Spelling of imputed numbers: the shortest that a dtype reads back, within the bounds."""

    dtype: np.dtype
    minimum: float | None = None
    maximum: float | None = None

    def words(self, numbers, booleans=None):
        """Return numbers as [str]; booleans: the words of False and True where a column holds these, or None."""
        if booleans is not None:
            return [booleans[int(number)] for number in numbers]
        low, high = (one if one is not None else sign * np.inf for one, sign in ((self.minimum, -1), (self.maximum, 1)))
        short = numbers.astype(self.dtype)
        words = [np.format_float_positional(one, trim="-") for one in short]
        for at, (word, number) in enumerate(zip(words, numbers.tolist())):
            if number % 1 == 0 or not low <= float(word) <= high:
                words[at] = np.format_float_positional(number, trim="-")
        return words


def _write_long(path, table, long, completed, observed, as_parquet, spelling):
    """Write a long table."""
    if not as_parquet:
        words = boolean_words(long.frame[long.roles.value][observed[long.vertex, long.time]])
        out = completed_frame(long, completed, observed, lambda some: spelling.words(np.asarray(some), words))
        out = out.astype(object)
        cells = out.where(out.notna(), "").to_numpy()
        return _write_text(path, table, long.header, cells, map(str, cells[:, 0].tolist()))
    if isinstance(table, FrameTable):
        return _to_parquet(path, table, long.header, completed_as(long, completed, observed))
    value, types, frame = long.roles.value, type_of_long(table, long), long.frame.copy()
    frame[value] = table.numbers(frame[[value]]).ravel()
    out = completed_as(long._replace(frame=frame), completed, observed)
    out[value] = _as_text_type(FLOAT if types is None else types.types[0], out[value].to_numpy())
    _to_parquet(path, table, long.header, out)


def _write_text(path, table, header, cells, labels):
    """Write rows of words, of which `labels` are the first; DataError for labels that a text would lose."""
    for label in (*labels, *(table.first if header else ())):
        if label:
            check_word(label, f"{path}: the label")
    if header and not any(table.first[1:]):
        raise DataError(
            f"{path}: the columns' names are blank ({shown(table.first[-1])}), and a text would read them as values. "
            "Write a file.parquet instead."
        )
    separator = getattr(table, "separator", ",")
    separator = " " if separator == BLANKS else separator
    with atomic_write(path) as aside, open(aside, "w", newline="", encoding="utf-8") as file:
        lines = cells.tolist()
        for line in [table.first, *lines] if header else lines:
            file.write(csv_line(map(with_comma, map(str, line)) if table.commas else line, separator))
        file.writelines(f"{line}\n" for line in decoded(table.blank_end).splitlines() if line)
        file.flush()
        if any(map(with_point, {*labels, *table.first})) and has_decimal_commas(aside, separator) != table.commas:
            raise DataError(
                f"{path}: a label such as {shown(next(filter(with_point, [*labels, *table.first])))} would be read as "
                "a number with a decimal comma. Rename it, or write a file.parquet instead."
            )


def has_decimal_commas(path, separator):
    """Return whether the numbers of a text would be read with decimal commas."""
    with open(path, "rb") as file:
        return decimal_commas(file.read(), BLANKS if separator == " " else separator)[1]


def _write_parquet(path, table, found, frame, filled, missing):
    """Write a frame with filled (rows, columns) in place of missing values, each column in its dtype."""
    body = frame.iloc[: found.rows]
    numbers = table.numbers(body[found.values])
    types = None if isinstance(table, FrameTable) else _types_of_text(table, found, frame, numbers)
    numbers, columns = np.where(missing, filled, numbers), {}
    for at, place in enumerate(found.values):
        if types is None:
            columns[place] = refill(body[place], numbers[:, at], missing[:, at])
        else:
            columns[place] = _as_text_type(types[at], numbers[:, at])
    out = frame.__class__({place: columns.get(place, body[place]) for place in frame.columns})
    _to_parquet(path, table, found.header, out)


def _types_of_text(table, found, frame, numbers):
    """Return the ColumnType of each column of values of a text; FLOAT where its cells have several."""
    by_vertex = found.layout == "columns"
    types = types_in(table, found, frame, numbers.T if by_vertex else numbers)
    if types is None:
        return [FLOAT] * numbers.shape[1]
    found = [types.types[code] for code in types.codes[:, 0]]
    return found if by_vertex else [found[0] if len(set(found)) == 1 else FLOAT] * numbers.shape[1]


def _as_text_type(one, numbers):
    """Return numbers of a text as int64 or bool, where its ColumnType is such and int64 holds them."""
    if one == FLOAT or np.abs(numbers).max(initial=0) >= 2**63:
        return numbers
    return numbers.astype(bool if one == BOOLEAN else np.int64)


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
