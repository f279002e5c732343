"""Read and write documents as tables: csv with a header, or Parquet, with columns label, qid and features.

In Parquet the features are separate columns, or one column of lists.
"""

from collections import Counter

import numpy as np

from gpukit.base.arrays import as_labels
from gpukit.documents import parse
from gpukit.documents.convert import check_names, validate_documents
from gpukit.documents.gather import MANY
from gpukit.documents.table import Documents
from gpukit.errors import DataError, ParameterError
from gpukit.io.arrays import normalize_name
from gpukit.io.ids import factorize
from gpukit.io.records import words_of
from gpukit.io.sheet import SEPARATORS, Table
from gpukit.io.sources import count_marks
from gpukit.io.words import as_ids, decode, quote, text_array, with_comma

NAMES = {
    "label": {"label", "labels", "relevance", "rel", "y", "target", "grade"},
    "qid": {"qid", "qids", "query", "queryid", "queries"},
    "weight": {"weight", "queryweight"},
    "comment": {"comment", "comments", "docid", "documentid"},
}
SHOWN = 20  # maximum column names in a message, and letters of one

NUMBERED = b"gpukit.numbered"  # metadata of a file with unnamed features f1 to fn
NO_VALUE = "feature's value (choose its meaning with --null)"


class Columns:
    """Columns of a table by name: roles {label, qid, weight, comment: name}, as far as there are any, and features.

    Unnamed columns, such as an index that pandas wrote, are ignored. Raises DataError for a
    table without label, qid or features, and for several candidates of one role.
    """

    def __init__(self, names, file):
        """names: [str] of the columns; file: its name, for messages."""
        result = {role: _known_names(names, known) for role, known in NAMES.items()}
        self.features = [
            name for name in names if not is_index(name) and not any(name in matches for matches in result.values())
        ]
        if not result["label"] or not result["qid"] or not self.features:
            listing = ", ".join(name[:SHOWN] for name in names[:SHOWN]) + (", ..." if len(names) > SHOWN else "")
            raise DataError(
                f"{file} has the columns {listing}: documents need label (relevance), qid, and features in columns of "
                "their own or, in Parquet, as lists in one."
            )
        twice = next((name for name, count in Counter(self.features).items() if count > 1), None)
        if twice is not None:
            raise DataError(f"{file} has several columns named {quote(twice)}. Rename them, or leave all but one out.")
        for role, matches in result.items():
            if len(matches) > 1:
                two = " and ".join(map(quote, matches[:2]))
                raise DataError(f"{file} has several columns that could be the {role}: {two}. Leave one.")
        self.roles = {role: matches[0] for role, matches in result.items() if matches}


def places_of(known, names, what):
    """Return the positions (n,) int64 of known feature names among names.

    None if both lists are equal. what: the documents' name, for the DataError that lists missing and unknown names.
    DataError also for a repeated name.
    """
    known, names = np.asarray(known, object), np.asarray(names, object)
    if np.array_equal(known, names):
        return None
    check_names(names)
    place = {name: index for index, name in enumerate(names.tolist())}
    missing, unknown = [name for name in known if name not in place], sorted(place.keys() - set(known))
    wrong = [
        f"{kind}: {', '.join(map(quote, some[:SHOWN]))}{', ...' if len(some) > SHOWN else ''} ({len(some):,} of {n:,})"
        for kind, some, n in (("missing", missing, len(known)), ("unknown", unknown, len(names)))
        if some
    ]
    if wrong:
        raise DataError(
            f"{what}: the columns are not those of the training set; {'; '.join(wrong)}. Give the same "
            "columns, in any order."
        )
    return np.array([place[name] for name in known], np.int64)


def take_columns(X, places):
    """Return the columns of X (l, n), dense or CSR, at places (k,)."""
    return X[:, places] if hasattr(X, "indptr") else np.ascontiguousarray(X[:, places])


def is_index(name):
    """Return True for names of pandas index columns and empty names.

    An empty name results from a separator at the end of each line.
    """
    return name in ("", "__index_level_0__") or name.startswith("Unnamed: ")


def _known_names(names, known):
    """Return the names that are known ones."""
    return [name for name in names if normalize_name(name) in known]


def are_documents(names):
    """Return True if column names include a label and a query id."""
    return all(_known_names(names, NAMES[role]) for role in ("label", "qid"))


def is_csv(head):
    """Return True if the first line of a text names label and query id.

    Names are separated by tabs, commas, semicolons or blanks. head: the first bytes.
    """
    return are_documents(names_in(head))


def names_in(head):
    """Return the fields of the first line of a text, which may be names."""
    first = next((line for line in head[count_marks(head) :].splitlines() if line.strip()), b"")
    mark = next((mark for mark in SEPARATORS if mark.encode() in first), " ")
    return words_of(decode(first).replace("\t", mark if mark == " " else "\t"), mark) or ()


def check_header(head, file):
    """Raise DataError for a header that names only one of label and query id."""
    names = names_in(head)
    missing = [role for role in ("label", "qid") if not _known_names(names, NAMES[role])]
    advice = {"label": "of 0 to score documents without labels", "qid": "with the query of each document"}
    if len(missing) == 1 and not names[0].startswith("#"):
        raise DataError(
            f"{file} has no column {missing[0]}: {quote(', '.join(names))}. A table of documents needs label and qid. "
            f"Add a column {missing[0]} {advice[missing[0]]}."
        )


def is_parquet(source):
    """Return True if the Parquet in an open Source has columns label and query id."""
    from gpukit.io import parquet

    return are_documents(parquet.Reader(source).names)


def queries_of(qids, place):
    """Return (offsets (m+1,) int64, ids (m,)) of the query ids of rows (l,).

    Raises DataError for a query whose rows are not adjacent. place: function that describes a row.
    """
    rows, ids = factorize(qids, "query")
    starts = np.flatnonzero(np.concatenate(([True], rows[1:] != rows[:-1])))
    _, first = np.unique(rows[starts], return_index=True)
    if len(first) < len(starts):
        again = starts[np.setdiff1d(np.arange(len(starts)), first)[0]]
        raise DataError(
            f"{place(again)}: query {ids[rows[again]]} comes back after others. Sort the rows so that each query's "
            "documents are together."
        )
    return np.append(starts, len(rows)).astype(np.int64), ids[rows[starts]]


def weights_of(weights, offsets, qids, place):
    """Return the weight of each query, (m,), from weights of documents (l,).

    Raises DataError if a query's weights differ; place: function that describes a row.
    """
    each = weights[offsets[:-1]]
    differ = np.flatnonzero(weights != np.repeat(each, np.diff(offsets)))
    if len(differ):
        query = qids[np.searchsorted(offsets, differ[0], "right") - 1]
        raise DataError(
            f"{place(differ[0])}: the weight is not that of the other documents of query {query}. A weight is a "
            "query's, for a pair of documents has no other."
        )
    return each


def _documents(file, null, X, labels, qids, weights, comments, names):
    """Return the Documents of a CsvFile's or ParquetFile's arrays; X is NaN where a value is missing."""
    offsets, qids = queries_of(qids, file.place)
    missing = np.isnan(X) if file.has_missing else np.False_
    if missing.any():
        X[missing] = parse.NULL if null == parse.NULL_KEPT else 0
        if null == parse.NULL_KEPT:
            parse.fill_nulls(X, offsets)
    weights = None if weights is None else weights_of(weights, offsets, qids, file.place)
    comments = None if comments is None else text_array(comments, f"{file.name}: a comment")
    names = None if names is None else text_array(names, f"{file.name}: a column's name")
    return validate_documents(
        Documents(X, as_labels(f"{file.name}: label", labels), offsets, qids, comments, weights, names)
    )


def read_csv(raw, name, null, dtype):
    """Return the Documents of a text (bytes) whose first line is a header.

    Columns: label (or relevance, ...) and qid; optional weight (one per query) and comment (or docid); all others are
    features, in order. Empty fields and NULL, NA, nan are missing; null: their replacement (read_letor). name: the
    file's, for messages. dtype: of X; None: float64, or float32 for more than 2^27 numbers. Raises DataError with the
    line.
    """
    return CsvFile(raw, name).documents(null, dtype)


class CsvFile:
    """Documents in a csv with a header."""

    def __init__(self, raw, name):
        self.name, self.table = name, Table(raw, name)
        names = self.table.first
        self.columns = Columns(names, name)
        self.at = {role: names.index(name) for role, name in self.columns.roles.items()}
        text_columns = [self.at[role] for role in ("qid", "comment") if role in self.at]
        self.frame = self.table.frame(True, text_columns, ids=[self.at["label"]])  # whole labels stay exact

    def place(self, row):
        """Return the position of a document, for messages."""
        return f"{self.name}, {self.table.place(int(row))}"

    def documents(self, null, dtype):
        """Return the Documents; arguments as in read_csv."""
        X = self._features(dtype)
        missing = np.isnan(X).any(axis=1)
        self.has_missing = bool(missing.any())
        if self.has_missing and null == parse.NULL_ERROR:
            raise DataError(f"{self.place(np.argmax(missing))} has no {NO_VALUE}. Remove such rows first.")
        words = self._texts("qid")
        if "" in words:
            raise DataError(f"{self.place(words.index(''))} has no query id.")
        qids, weights = as_ids(words, f"{self.name}: query"), self._whole("weight")
        return _documents(
            self, null, X, self._whole("label"), qids, weights, self._texts("comment"), self.columns.features
        )

    def _texts(self, role):
        """Return a column as [str], with the file's decimal commas; None if it is missing."""
        if role not in self.at:
            return None
        words = self.table.words(self.frame[self.at[role]])
        return [*map(with_comma, words)] if self.table.commas else words

    def _whole(self, role):
        """Return a column without missing values as (l,) numbers; None if it is missing."""
        if role not in self.at:
            return None
        column = self.frame[[self.at[role]]]
        if role == "label" and column.dtypes.iloc[0].kind in "iu":
            return column.to_numpy()[:, 0]
        values = self.table.numbers(column)[:, 0]
        wrong = ~np.isfinite(values)
        if wrong.any():
            row = np.argmax(wrong)
            why = f"no {role}" if np.isnan(values[row]) else f"a {role} that is infinite. Correct or remove it"
            raise DataError(f"{self.place(row)} has {why}.")
        return values

    def _features(self, dtype):
        """Return the feature columns (l, n), NaN where missing."""
        names, features = self.table.first, {*self.columns.features}
        places = [index for index, name in enumerate(names) if name in features]
        X = self.table.numbers(self.frame[places])
        unknown = parse.is_unknown(X)
        X = np.where(unknown, np.nan, X) if unknown.any() else X
        with np.errstate(over="ignore"):
            out = X.astype(dtype or (np.float32 if X.size > MANY else np.float64), copy=False)
        if np.isinf(out).any():
            row, column = np.argwhere(np.isinf(out))[0]
            raise DataError(
                f"{self.place(row)} has a feature that is not finite in {out.dtype}: {quote(names[places[column]])} is "
                f"{X[row, column]:g}. Correct or remove it."
            )
        return out


def read_parquet(source, null, dtype):
    """Return the Documents of Parquet in an open Source.

    Columns as in read_csv, or one column has a list of features per row. null: replacement of missing features
    (read_letor). dtype: of X; None: float32 if all features are, or for more than 2^27 numbers; else float64. Raises
    DataError with the row.
    """
    file = ParquetFile(source, null, dtype)
    for start, batch in file.reader.batches(file.reader.names):
        file.add(start, batch)
    if not file.qids:
        raise DataError(f"{source.name} holds no documents.")
    return file.documents()


class ParquetFile:
    """Documents in Parquet; arrays are filled by batches of rows."""

    def __init__(self, source, null, dtype):
        from gpukit.io import parquet

        self.name, self.reader, self.null, self.dtype = source.name, parquet.Reader(source), null, dtype
        self.columns = Columns(self.reader.names, source.name)
        self.X, self.listed, self.has_missing = None, False, False
        self.labels, self.qids, self.weights, self.comments = [], [], [], []

    def place(self, row):
        """Return the position of a row, for messages."""
        return f"{self.name}, row {row + 1:,}"

    def add(self, start, batch):
        """Append a batch of columns that begins at row `start`."""
        reader, roles = self.reader, {role: batch[name] for role, name in self.columns.roles.items()}
        self.labels.append(reader.numbers(roles["label"], start, "label"))
        self.qids.append(reader.ids(roles["qid"], start, "query id").to_numpy(zero_copy_only=False))
        if "weight" in roles:
            self.weights.append(reader.numbers(roles["weight"], start, "weight").astype(np.float64))
        if "comment" in roles:
            self.comments += reader.text(roles["comment"], "comment")
        features = [self._numbers(column, start) for column in self._features(batch, start)]
        if self.X is None:
            self.X = np.empty((reader.rows, len(features)), dtype=self._kind(features))
        for place, values in enumerate(features):
            self.X[start : start + len(values), place] = values

    def _features(self, batch, start):
        """Return the features of a batch as pyarrow columns."""
        import pyarrow
        from pyarrow import compute

        first = batch[self.columns.features[0]]
        if len(self.columns.features) > 1 or not self.reader.is_list(first):
            return [batch[name] for name in self.columns.features]
        self.listed = True
        self.reader.refuse_missing(first, start, "features")
        sizes = np.array(compute.list_value_length(first))
        n = self.X.shape[1] if self.X is not None else int(sizes[0])
        if (sizes != n).any() or n == 0:
            row = int(np.argmax(sizes != n))
            raise DataError(f"{self.place(start + row)} has {sizes[row]:,} features where row 1 has {n:,}.")
        flat = first.flatten()
        return [flat.take(pyarrow.array(np.arange(place, len(flat), n))) for place in range(n)]

    def _numbers(self, column, start):
        """Return a feature's column (rows,) of numbers, NaN where a value may be missing."""
        if column.null_count and self.null != parse.NULL_ERROR:
            import pyarrow

            if not pyarrow.types.is_null(column.type):
                self.reader.numbers(column.drop_null(), start, NO_VALUE)  # raises for values that are not numbers
            self.has_missing = True
            column = column.cast(pyarrow.float64()).fill_null(np.nan)
        numbers = self.reader.numbers(column, start, NO_VALUE)
        unknown = parse.is_unknown(numbers)
        if not unknown.any():
            return numbers
        if self.null == parse.NULL_ERROR:
            raise DataError(f"{self.place(start + int(np.argmax(unknown)))} has no {NO_VALUE}. Remove such rows first.")
        self.has_missing = True
        return np.where(unknown, np.nan, numbers)

    def _kind(self, features):
        if self.dtype is not None:
            return np.dtype(self.dtype)
        single = all(value.dtype == np.float32 for value in features) or self.reader.rows * len(features) > MANY
        return np.dtype(np.float32 if single else np.float64)

    def documents(self):
        """Return all rows as Documents."""
        names = self.columns.features
        if self.listed or (NUMBERED in self.reader.metadata and names == numbered_names(self.X.shape[1])):
            names = None
        weights = np.concatenate(self.weights) if self.weights else None
        comments = self.comments if "comment" in self.columns.roles else None
        labels, qids = np.concatenate(self.labels), np.concatenate(self.qids)
        return _documents(self, self.null, self.X, labels, qids, weights, comments, names)


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
        if len(documents.weights) != len(documents.qids):
            raise ParameterError("Parquet's column of weights is for queries. Write the weights of documents as .gkl.")
        columns["weight"] = np.repeat(documents.weights, sizes)
    if documents.comments is not None:
        columns["comment"] = documents.comments
    numbered = documents.names is None
    names = numbered_names(documents.X.shape[1]) if numbered else documents.names.tolist()
    known = set().union(*NAMES.values())
    wrong = next((name for name in names if is_index(name) or normalize_name(name) in known), None)
    if wrong is not None:
        raise ParameterError(
            f"The feature named {wrong!r} would be read from Parquet as a column of another kind. Rename it, or write "
            ".gkl."
        )
    columns |= {name: documents.X[:, place] for place, name in enumerate(names)}
    parts = {name: lambda part, column=column: column[part] for name, column in columns.items()}
    tables.write_parquet(file, parts, len(documents.y), {NUMBERED: b"1"} if numbered else None)


def numbered_names(n):
    """Return column names [str] of n unnamed features."""
    return [f"f{place + 1}" for place in range(n)]
