"""Read and write documents as tables: csv with a header, or Parquet, with columns label, qid and one per feature."""

import itertools
import re
from collections import Counter

import numpy as np

from gpukit.base.arrays import EXACT, as_labels, check_distinct
from gpukit.documents.adopt import (
    MANY,
    NULL,
    NULL_ERROR,
    NULL_KEPT,
    check_names,
    fill_nulls,
    group_rows,
    is_unknown,
)
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


def roles_of(names, file):
    """Return ({role: column name}, names of the features) of a table; roles: label, qid and, if there, weight, comment.

    Unnamed columns, such as an index that pandas wrote, are ignored. names: [str] of the columns; file: its name, for
    the DataError for a table without label, qid or features, and for several candidates of one role.
    """
    result = {role: _known_names(names, known) for role, known in NAMES.items()}
    features = [name for name in names if not is_index(name) and not any(name in known for known in result.values())]
    if not result["label"] or not result["qid"] or not features:
        listing = ", ".join(name[:SHOWN] for name in names[:SHOWN]) + (", ..." if len(names) > SHOWN else "")
        raise DataError(
            f"{file} has the columns {listing}: documents need label (relevance), qid, and features in columns of "
            "their own."
        )
    twice = next((name for name, count in Counter(features).items() if count > 1), None)
    if twice is not None:
        raise DataError(f"{file} has several columns named {quote(twice)}. Rename them, or leave all but one out.")
    for role, matches in result.items():
        if len(matches) > 1:
            two = " and ".join(map(quote, matches[:2]))
            raise DataError(f"{file} has several columns that could be the {role}: {two}. Leave one.")
    return {role: matches[0] for role, matches in result.items() if matches}, features


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


def queries_of(rows, ids, place):
    """Return (offsets (m+1,) int64, ids (m,)) of documents (l,) whose query ids are ids[rows].

    Raises DataError for a query whose rows are not adjacent. place: function that describes a row.
    """
    order, offsets, queries = group_rows(rows, len(rows))
    if order is not None:
        again = int(np.argmax(np.diff(np.argsort(order)) < 0)) + 1
        raise DataError(
            f"{place(again)}: query {ids[rows[again]]} comes back after others. Sort the rows so that each query's "
            "documents are together."
        )
    return offsets, ids[queries]


def weights_of(weights, offsets, qids, place):
    """Return the weight of each query, (m,), from weights of documents (l,).

    Raises DataError if a query's weights differ or are negative; place: function that describes a row.
    """
    each = weights[offsets[:-1]]
    row = int(np.argmin(weights))
    differ = np.flatnonzero(weights != np.repeat(each, np.diff(offsets)))
    if len(differ):
        query = qids[np.searchsorted(offsets, differ[0], "right") - 1]
        raise DataError(
            f"{place(differ[0])}: the weight is not that of the other documents of query {query}. A table has weights "
            "of queries; put those of documents into a file FILE.weight next to it, one per line."
        )
    if weights[row] < 0:
        raise DataError(f"{place(row)} has the weight {weights[row]:g}; weights are numbers from 0 up.")
    return each


class TableFile:
    """Documents of a table by batches of rows: columns by role, and X (l, n), filled in place.

    has_missing: True after a batch with missing features, which are NULL in X (or 0, by the rule `null`).
    """

    X, has_missing = None, False

    def __init__(self, name, names, null):
        self.name, self.null = name, null
        self.roles, self.features = roles_of(names, name)

    def fill(self, start, features, rows, dtype):
        """Write features [(batch,) numbers, NaN where missing] of the rows from `start` on to X (rows, n).

        Raises DataError for a missing one if the rule forbids it, and for one that is not finite in dtype.
        """
        self.X = np.empty((rows, len(features)), dtype) if self.X is None else self.X
        is_missing = np.zeros(len(features[0]), np.bool_)
        largest = min(float(np.finfo(self.X.dtype).max), 1e308)  # larger ones may be marks of missing values
        for place, values in enumerate(features):
            column = self.X[start : start + len(values), place]
            if -largest <= float(values.min(initial=0)) and float(values.max(initial=0)) <= largest:  # not if NaN
                column[:] = values
                continue
            gaps = np.isnan(values) | is_unknown(values)
            with np.errstate(over="ignore"):
                column[:] = values
            column[gaps] = 0
            if not np.isfinite(column).all():
                self._refuse_infinite(start, column, values, place)
            if gaps.any():
                column[gaps] = NULL if self.null == NULL_KEPT else 0
                is_missing |= gaps
        if is_missing.any():
            self.has_missing = True
            if self.null == NULL_ERROR:
                raise DataError(
                    f"{self.place(start + np.argmax(is_missing))} has no {NO_VALUE}. Remove such rows first."
                )

    def _refuse_infinite(self, start, column, values, place):
        """Raise DataError for the first infinite entry of a feature's column, whose numbers were `values`."""
        row = int(np.argmin(np.isfinite(column)))
        raise DataError(
            f"{self.place(start + row)} has a feature that is not finite in {column.dtype}: "
            f"{quote(self.features[place])} is {values[row]:g}. Correct or remove it."
        )

    def documents(self, labels, queries, weights, comments, names):
        """Return the Documents of all rows; weights, comments and names of features may be None.

        Labels and weights are checked here, features by fill. queries: (index (l,), ids) of the documents' queries.
        """
        for role, values in (("label", labels), ("weight", weights)):
            if values is not None and not (is_finite := np.isfinite(values)).all():
                row = int(np.argmin(is_finite))
                why = f"no {role}" if np.isnan(values[row]) else f"a {role} that is infinite. Correct or remove it"
                raise DataError(f"{self.place(row)} has {why}.")
        offsets, qids = queries_of(*queries, self.place)
        if self.has_missing and self.null == NULL_KEPT:
            fill_nulls(self.X, offsets)
        weights = None if weights is None else weights_of(weights, offsets, qids, self.place)
        comments = None if comments is None else text_array(comments, f"{self.name}: a comment")
        names = None if names is None else text_array(names, f"{self.name}: a column's name")
        labels = as_labels(f"{self.name}: label", labels)
        return Documents(self.X, labels, offsets, qids, comments, weights, names)


class CsvFile(TableFile):
    """Documents in a text whose first line is a header.

    Columns: label (or relevance, ...) and qid; optional weight (one per query) and comment (or docid); all others are
    features, in order. Empty fields and NULL, NA, nan are missing.
    """

    def __init__(self, raw, name, null):
        """raw: the text (bytes); name: the file's, for messages; null: replacement of missing features (read_letor)."""
        self.table = Table(raw, name)
        names = self.table.first
        super().__init__(name, names, null)
        self.at = {role: names.index(column) for role, column in self.roles.items()}
        self.frame = self.table.frame(True, [self.at[role] for role in ("qid", "comment") if role in self.at])

    def place(self, row):
        """Return the position of a document, for messages."""
        return f"{self.name}, {self.table.place(int(row))}"

    def read(self, dtype):
        """Return the Documents; DataError with the line.

        dtype: of X; None: float64, or float32 for more than 2^27 numbers.
        """
        features = {*self.features}
        places = [place for place, name in enumerate(self.table.first) if name in features]
        size = len(places) * len(self.frame)
        columns = [self.table.column(self.frame[place]) for place in places]
        self.fill(0, columns, len(self.frame), dtype or (np.float32 if size > MANY else np.float64))
        index, words = self._texts("qid")
        if "" in words:
            raise DataError(f"{self.place(np.argmax(index == words.index('')))} has no query id.")
        queries, comments = (index, as_ids(words, f"{self.name}: query")), None
        if "comment" in self.at:
            index, words = self._texts("comment")
            comments = [words[place] for place in index.tolist()]
        return self.documents(self._labels(), queries, self._numbers("weight"), comments, self.features)

    def _texts(self, role):
        """Return (index (l,), distinct words [str]) of a column, with the file's decimal commas."""
        index, words = self.table.distinct_words(self.frame[self.at[role]])
        return index, [*map(with_comma, words)] if self.table.commas else words

    def _labels(self):
        """Return the labels (l,), int64 if all are whole and float64 does not hold them."""
        values, place = self._numbers("label"), self.at["label"]
        if not (np.abs(values) >= EXACT).any():
            return values
        exact = self.table.frame(True, ids=[place], others=False)[place].to_numpy()
        if exact.dtype.kind == "i":
            return exact
        words = map(str, exact[(np.abs(values) >= EXACT) & np.isfinite(values)])
        check_distinct(self.name, [int(word) for word in words if re.fullmatch(r"[+-]?\d+", word)])
        return values

    def _numbers(self, role):
        """Return a column as (l,) float64, NaN where missing; None without this column."""
        advice = f"Nor is any other {role}: write a number for each, such as 0, 1 and 2."
        return self.table.column(self.frame[self.at[role]], advice) if role in self.at else None


def read_parquet(source, null, dtype):
    """Return the Documents of Parquet in an open Source.

    Columns as in CsvFile. null: replacement of missing features (read_letor). dtype: of X; None: float32 if all
    features are, or for more than 2^27 numbers; else float64. Raises DataError with the row.
    """
    file = ParquetFile(source, null)
    batches = [file.add(start, batch, dtype) for start, batch in file.reader.batches(file.reader.names)]
    if not batches:
        raise DataError(f"{source.name} holds no documents.")
    labels, qids, weights, comments = zip(*batches)
    names, queries = file.features, factorize(np.concatenate(qids), "query")
    if NUMBERED in file.reader.metadata and names == numbered_names(len(names)):
        names = None
    weights = None if weights[0] is None else np.concatenate(weights).astype(np.float64)
    comments = None if comments[0] is None else list(itertools.chain(*comments))
    return file.documents(np.concatenate(labels), queries, weights, comments, names)


class ParquetFile(TableFile):
    """Documents in Parquet."""

    def __init__(self, source, null):
        from gpukit.io import tables

        self.reader = tables.Reader(source)
        super().__init__(source.name, self.reader.names, null)

    def place(self, row):
        """Return the position of a row, for messages."""
        return f"{self.name}, row {row + 1:,}"

    def add(self, start, batch, dtype):
        """Read a batch of columns from row `start` on; return its (labels, query ids, weights, comments)."""
        reader, roles = self.reader, {role: batch[name] for role, name in self.roles.items()}
        labels = reader.numbers(roles["label"], start, "label")
        qids = reader.ids(roles["qid"], start, "query id").to_numpy(zero_copy_only=False)
        weights = reader.numbers(roles["weight"], start, "weight") if "weight" in roles else None
        comments = reader.text(roles["comment"], "comment") if "comment" in roles else None
        features = [self._numbers(batch[name], start, f"feature {name!r}") for name in self.features]
        if dtype is None:
            is_single = all(values.dtype == np.float32 for values in features) or reader.rows * len(features) > MANY
            dtype = np.float32 if is_single else np.float64
        self.fill(start, features, reader.rows, dtype)
        return labels, qids, weights, comments

    def _numbers(self, column, start, what):
        """Return a feature's column (rows,) of numbers, NaN where a value is missing; what: its name, for messages."""
        import pyarrow

        if not column.null_count:
            return self.reader.numbers(column, start, what)
        if not pyarrow.types.is_null(column.type):
            self.reader.numbers(column.drop_null(), start, what)  # raises for values that are not numbers
        return column.cast(pyarrow.float64()).fill_null(np.nan).to_numpy(zero_copy_only=False)


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
