"""Read and write documents as Parquet with columns label, qid and features.

Features are separate columns, or one column of lists.
"""

import numpy as np

from gpukit.base.arrays import as_labels
from gpukit.documents import parse
from gpukit.documents.check import sound
from gpukit.documents.columns import NAMES, Columns, are_documents, is_index, queries_of, weights_of
from gpukit.documents.gather import MANY
from gpukit.documents.table import Documents
from gpukit.errors import DataError, ParameterError
from gpukit.io import parquet
from gpukit.io.arrays import plain
from gpukit.io.words import text_array

NUMBERED = b"gpukit.numbered"  # metadata of a file with unnamed features f1 to fn


def is_documents(source):
    """Return True for Parquet with label and query id columns.

    source: an open Source.
    """
    return are_documents(parquet.Reader(source).names)


def read_parquet(source, null, dtype):
    """Return the Documents of Parquet in an open Source.

    Columns: label (or relevance, ...) and qid; optional weight (one per query) and comment; all others are features, in
    order, or one column has a list of features per row. null: replacement of missing features (read_letor). dtype: of
    X; None: float32 if all features are, or for more than 2^27 numbers; else float64. Raises DataError with the row.
    """
    source = parquet.Reader(source)
    columns = Columns(source.names, source.name)
    table = _Table(source, columns, null, dtype)
    for start, batch in source.batches(source.names):
        table.add(start, batch)
    if not table.qids:
        raise DataError(f"{source.name} holds no documents.")
    return table.documents()


class _Table:
    """Arrays filled by batches of rows."""

    def __init__(self, source, columns, null, dtype):
        self.source, self.columns, self.null, self.dtype = source, columns, null, dtype
        self.X, self.nulls = None, 0
        self.listed = False
        self.labels, self.qids, self.weights, self.comments = [], [], [], []

    def add(self, start, batch):
        """Append a batch of columns that begins at row `start`."""
        source, columns = self.source, self.columns
        label = source.numbers(batch[columns.label], start, "label")
        rows = slice(start, start + len(label))
        self.labels.append(label)
        qids = source.ids(batch[columns.qid], start, "query id")
        self.qids.append(qids.to_numpy(zero_copy_only=False))
        if columns.weight is not None:
            self.weights.append(source.numbers(batch[columns.weight], start, "weight").astype(np.float64))
        if columns.comment is not None:
            words = source.text(batch[columns.comment], "comment")
            self.comments.append(text_array(words, f"{source.name}: a comment"))
        features = [self._filled(one, start) for one in self._features(batch, start)]
        if self.X is None:
            self.X = np.empty((source.rows, len(features)), dtype=self._kind(features))
        for place, values in enumerate(features):
            self.X[rows, place] = values

    def _features(self, batch, start):
        """Return the features of a batch as pyarrow columns."""
        pyarrow, _ = parquet.library()
        first = batch[self.columns.features[0]]
        if len(self.columns.features) > 1 or not parquet.is_list(first):
            return [batch[name] for name in self.columns.features]
        self.listed = True
        self.source.refuse_missing(first, start, "features")
        sizes = np.array(pyarrow.compute.list_value_length(first))
        n = self.X.shape[1] if self.X is not None else int(sizes[0])
        if (sizes != n).any() or n == 0:
            row = int(np.argmax(sizes != n))
            raise DataError(
                f"{self.source.name}, row {start + row + 1:,} has {sizes[row]:,} features where row 1 has {n:,}."
            )
        flat = first.flatten()
        return [flat.take(pyarrow.array(np.arange(place, len(flat), n))) for place in range(n)]

    def _filled(self, column, start):
        """Return a feature's column (rows,) float, with missing values replaced."""
        what = "feature's value (choose what it stands for with --null)"
        if column.null_count and self.null != parse.NULL_ERROR:
            pyarrow, _ = parquet.library()
            if not pyarrow.types.is_null(column.type):
                self.source.numbers(column.drop_null(), start, what)  # raises for values that are not numbers
            self.nulls += column.null_count
            mark = float(parse.NULL) if self.null == parse.NULL_KEPT else 0.0
            column = column.cast(pyarrow.float64()).fill_null(mark)
        return self.source.numbers(column, start, what)

    def _kind(self, features):
        if self.dtype is not None:
            return np.dtype(self.dtype)
        single = all(one.dtype == np.float32 for one in features) or self.source.rows * len(features) > MANY
        return np.dtype(np.float32 if single else np.float64)

    def place(self, row):
        """Return the position of a row, for messages."""
        return f"{self.source.name}, row {row + 1:,}"

    def documents(self):
        """Return all rows as Documents."""
        offsets, qids = queries_of(np.concatenate(self.qids), self.place)
        if self.nulls and self.null == parse.NULL_KEPT:
            parse.fill_nulls(self.X, offsets)
        comments = np.concatenate(self.comments) if self.comments else None
        weights = weights_of(np.concatenate(self.weights), offsets, qids, self.place) if self.weights else None
        y = as_labels(f"{self.source.name}: label", np.concatenate(self.labels))
        return sound(Documents(self.X, y, offsets, qids, comments, weights, self._names()))

    def _names(self):
        """Return feature names (n,) str; None for a list column or numbered features."""
        numbered = NUMBERED in self.source.metadata and self.columns.features == numbered_names(self.X.shape[1])
        if self.listed or numbered:
            return None
        return text_array(self.columns.features, f"{self.source.name}: a column's name")


def write_parquet(documents, file):
    """Write documents as Parquet to an open binary file.

    Columns: label, qid, features, and weight and comment if present. Unnamed features are f1 to fn. Raises
    ParameterError for sparse features and for feature names that would be read as another column.
    """
    from gpukit.io import tables

    if not isinstance(documents.X, np.ndarray):
        raise ParameterError("Sparse features have no place in Parquet's columns: write .gkl or .txt.")
    sizes = np.diff(documents.offsets)
    columns = {"label": documents.y, "qid": np.repeat(documents.qids, sizes)}
    if documents.weights is not None:
        columns["weight"] = np.repeat(documents.weights, sizes)
    if documents.comments is not None:
        columns["comment"] = documents.comments
    numbered = documents.names is None
    names = numbered_names(documents.X.shape[1]) if numbered else documents.names.tolist()
    check_names(names)
    columns |= {name: documents.X[:, place] for place, name in enumerate(names)}
    taken = {name: lambda part, column=column: column[part] for name, column in columns.items()}
    tables.write_parquet(file, taken, len(documents.y), {NUMBERED: b"1"} if numbered else None)


def numbered_names(n):
    """Return column names [str] of n unnamed features."""
    return [f"f{place + 1}" for place in range(n)]


def check_names(names):
    """Raise ParameterError for a feature name that is ambiguous in Parquet."""
    known = set().union(*NAMES.values())
    wrong = next((name for name in names if is_index(name) or plain(name) in known), None)
    if wrong is not None:
        raise ParameterError(
            f"The feature named {wrong!r} would be read from Parquet as a column of another kind. Rename it, or write "
            ".gkl."
        )
