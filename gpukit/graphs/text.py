"""Graphs as text: lists of edges, and adjacencies as tables of numbers."""

import io

import numpy as np

from gpukit.errors import DataError
from gpukit.graphs.adjacency import as_adjacency
from gpukit.io import parquet, sources

MARKS = (b"#", b"%")  # of a comment
ENDS = {
    "source",
    "target",
    "from",
    "to",
    "src",
    "dst",
    "node1",
    "node2",
    "fromnodeid",
    "tonodeid",
    "start",
    "end",
}  # what headers call the ends of an edge


def read_graph_text(path):
    """(adjacency, ids or None) of a text, which may be compressed (.gz, .bz2, .xz, .zip), or of Parquet.

    Two or three columns (space, tab or comma between them) are a list of edges: two vertices and a weight (1 without);
    the ids, whole numbers (then ascending) or text (as they first appear), are kept. Four columns or more are an
    adjacency of as many rows; its header, if any, are the ids. Lines that begin with # or % are comments, a first line
    of words is a header. Raises DataError for what is neither, with its line; all that as_adjacency raises.
    """
    table = open_table(path)
    if len(table.first) in (2, 3):
        return _from_list(table)
    return _from_square(table)


def open_table(path):
    """The Table of a text or of Parquet; path: a file's or a pipe's name, '-', or an open Source."""
    with sources.opened(path, "a list of edges or a table of numbers") as source:
        if parquet.is_parquet(source):
            return ParquetTable(source)
        stream = source.stream()
        stream.text_head()
        return Table(stream.whole().removeprefix(sources.BOM), stream.name)


class Table:
    """Rows of fields in a text: `first` and `second`, the fields of its first lines, and `frame`, all of it parsed.

    named: the first line is known to be a header.
    """

    named = False

    def __init__(self, raw, path):
        self.raw, self.path = raw, path
        head = [line for line in raw[: 1 << 20].splitlines()[:1000] if line.strip() and not line.startswith(MARKS)]
        if not head:
            raise DataError(f"{path} has no lines but comments.")
        self.separator = next((mark for mark in (",", "\t", ";") if mark.encode() in head[0]), r"\s+")
        self.first, self.second = (self._fields(line) for line in (*head, b"")[:2])

    def _fields(self, line):
        text = line.decode("utf-8", "replace").strip("\r\n")
        words = text.split() if self.separator == r"\s+" else text.split(self.separator)
        return [word.strip().strip('"') for word in words]

    def frame(self, header):
        """A pandas DataFrame, columns 0 to C-1, without comments, blank lines and, with header=True, the first line."""
        import pandas

        lines = io.BytesIO(self.raw.replace(b"\n%", b"\n#") if b"%" in self.raw else self.raw)
        if self.raw.startswith(b"%"):
            lines = io.BytesIO(b"#" + lines.getvalue()[1:])
        try:
            frame = pandas.read_csv(
                lines,
                sep=self.separator,
                header=0 if header else None,
                comment="#",
                low_memory=False,
                skipinitialspace=True,
                encoding_errors="replace",
            )
        except (pandas.errors.ParserError, pandas.errors.EmptyDataError) as error:
            what = str(error).strip().splitlines()[-1].removeprefix("Error tokenizing data. C error: ")
            raise DataError(f"{self.path}: {what}.") from error
        frame.columns = range(frame.shape[1])
        return frame

    def numbers(self, frame):
        """(rows, columns) float64 of a frame, NaN where a field is empty or nan; DataError for a field of text."""
        import pandas

        for column in frame.columns:
            if frame[column].dtype.kind not in "biuf":
                wrong = pandas.to_numeric(frame[column], errors="coerce").isna() & frame[column].notna()
                if wrong.any():
                    row = int(np.argmax(wrong))
                    raise DataError(
                        f"{self.path}: {frame[column].iloc[row]!r} (row {row + 1:,} of values, column "
                        f"{column + 1}) is not a number."
                    )
                frame[column] = pandas.to_numeric(frame[column])
        return frame.to_numpy(dtype=np.float64)


class ParquetTable(Table):
    """A Parquet file as a Table: the columns' names are its first line, an index of pandas' its first column."""

    named = True

    def __init__(self, source):
        self.path, self._frame = source.name, parquet.Reader(source).frame()
        if not len(self._frame):
            raise DataError(f"{self.path} has no rows.")
        unnamed = ("index", "level_0", "__index_level_0__")
        self.first = ["" if name in unnamed else name for name in map(str, self._frame.columns)]
        self.second = [str(value) for value in self._frame.iloc[0]]

    def frame(self, header=True):
        """A pandas DataFrame, columns 0 to C-1; there is a header always."""
        frame = self._frame.copy(deep=False)
        frame.columns = range(frame.shape[1])
        return frame


def is_number(word):
    """True for a field that is empty or a number (nan and inf too)."""
    try:
        float(word or "nan")
    except ValueError:
        return False
    return True


def _from_list(table):
    frame = table.frame(_list_header(table))
    columns = frame.shape[1]
    weights = table.numbers(frame[[2]]).ravel() if columns == 3 else None
    hole = frame.isna().to_numpy()
    if hole.any():
        raise DataError(
            f"{table.path}: edge {int(np.argmax(hole.any(axis=1))) + 1:,} is incomplete; each needs two "
            f"vertices{' and a weight' if columns == 3 else ''}."
        )
    edges, ids = _numbered(frame)
    return as_adjacency((edges, weights), vertices=len(ids), names=ids), ids


def _list_header(table):
    """True when the first line of a list of edges names its columns."""
    first, second = table.first, table.second
    if table.named:
        return True
    if len(first) == 3:
        return not is_number(first[2])
    if any(map(is_number, first)):
        return False
    return all(map(is_number, second)) or {word.lower() for word in first} <= ENDS


def _numbered(frame):
    """((E, 2) places in ids, ids) of a frame's first two columns: whole numbers ascending, text as it appears."""
    import pandas

    ends = frame[[0, 1]]
    if all(ends[column].dtype.kind in "iu" for column in ends):
        ids, places = np.unique(ends.to_numpy(), return_inverse=True)
        return places.reshape(-1, 2), ids
    text = ends.astype(str).to_numpy().ravel()
    places, ids = pandas.factorize(text)
    return places.reshape(-1, 2), ids.astype(str)


def _from_square(table):
    named = table.named or not table.first[0] or not all(map(is_number, table.first))
    frame = table.frame(header=named)
    ids = table.first if named else None
    if not named and len(frame) == frame.shape[1] + 1:  # a header of numbers
        frame, ids = frame.iloc[1:], table.first
    if len(frame) == frame.shape[1] - 1:  # a first column of ids
        ids = table.first[1:] if named else frame[0].tolist()  # the header has them as they are written
        frame = frame.drop(columns=0)
    rows, columns = frame.shape
    if rows != columns or columns < 2:
        raise DataError(
            f"{table.path} has {rows:,} rows of {columns:,} columns: an adjacency has as many rows as "
            "columns, a list of edges two or three columns (vertex, vertex, weight)."
        )
    ids = None if ids is None else as_ids(ids)
    return as_adjacency(table.numbers(frame), names=ids), ids


def as_ids(words):
    """(N,) ids of fields: int64 where all are whole numbers, spelled plainly, else text."""
    text = [str(word) for word in words]
    plain = all(word.isdecimal() and str(int(word)) == word for word in text)
    return np.array(text, dtype=np.int64) if plain else np.array(text)
