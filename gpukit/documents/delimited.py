"""Read documents from csv with a header and one line per document.

The header names label and qid.
"""

import numpy as np

from gpukit.base.arrays import as_labels
from gpukit.documents import parse
from gpukit.documents.check import sound
from gpukit.documents.columns import Columns, are_documents, queries_of, weights_of
from gpukit.documents.gather import MANY
from gpukit.documents.table import Documents
from gpukit.errors import DataError
from gpukit.io.records import words_of
from gpukit.io.sheet import SEPARATORS, Table
from gpukit.io.sources import BOM
from gpukit.io.words import as_ids, decoded, is_number, shown, text_array, with_comma

INFINITE = "is infinite, or larger than float64 holds"


def is_table(head):
    """Return True if the first line names label and query id.

    Names are separated by tabs, commas, semicolons or blanks. head: the first bytes.
    """
    first = next((line for line in head.removeprefix(BOM).splitlines() if line.strip()), b"")
    mark = next((mark for mark in SEPARATORS if mark.encode() in first), " ")
    return are_documents(words_of(decoded(first).replace("\t", mark if mark == " " else "\t"), mark) or ())


def read_table(raw, name, null, dtype):
    """Return the Documents of a text (bytes) whose first line is a header.

    Columns: label (or relevance, ...) and qid; optional weight (one per query) and comment (or docid); all others are
    features, in order. Empty fields and NULL, NA, nan are missing; null: their replacement (read_letor). name: the
    file's, for messages. dtype: of X; None: float64, or float32 for more than 2^27 numbers. Raises DataError with the
    line.
    """
    table = Table(raw.removeprefix(BOM), name)
    columns = Columns(table.first, table.path)
    at = {role: _place(table.first, getattr(columns, role)) for role in ("label", "qid", "weight", "comment")}
    spelled = [at[role] for role in ("qid", "comment") if at[role] is not None]
    frame = table.frame(True, spelled, ids=[at["label"]])  # whole labels stay exact
    features = set(columns.features)
    X = _features(table, frame, [place for place, name in enumerate(table.first) if name in features], dtype)
    offsets, qids = queries_of(_ids(table, frame, at["qid"]), lambda row: _where(table, row))
    _fill(table, X, offsets, null)
    weights = comments = None
    if at["weight"] is not None:
        each = _whole(table, frame, at["weight"], "weight")
        weights = weights_of(each, offsets, qids, lambda row: _where(table, row))
    if at["comment"] is not None:
        comments = text_array(_texts(table, frame[at["comment"]]), f"{name}: a comment")
    names = text_array(columns.features, f"{name}: a column's name")
    return sound(Documents(X, _labels(table, frame, at["label"]), offsets, qids, comments, weights, names))


def _where(table, row):
    """Return the file and line of a document, for messages."""
    return f"{table.path}, {table.place(int(row))}"


def _place(names, name):
    """Return the position of a name, or None."""
    return None if name is None else names.index(name)


def _ids(table, frame, place):
    """Return ids (l,); DataError for a line without one."""
    words = _texts(table, frame[place])
    if "" in words:
        raise DataError(f"{_where(table, words.index(''))} has no query id.")
    return as_ids(words, f"{table.path}: query")


def _texts(table, column):
    """Return a column as [str], with the file's decimal commas."""
    words = table.words(column)
    return [*map(with_comma, words)] if table.commas else words


def _whole(table, frame, place, what):
    """Return a column without missing values as (l,) float64."""
    values = table.numbers(frame[[place]])[:, 0]
    if np.isnan(values).any():
        raise DataError(f"{_where(table, np.argmax(np.isnan(values)))} has no {what}.")
    if np.isinf(values).any():
        raise DataError(
            f"{_where(table, np.argmax(np.isinf(values)))} has a {what} that {INFINITE}. Correct or remove it."
        )
    return values


def _labels(table, frame, place):
    """Return a column without missing values as labels (l,), float64 or int64."""
    if frame[place].dtype.kind in "iu":
        return as_labels(f"{table.path}: label", frame[place].to_numpy())
    return _whole(table, frame, place, "label")


def _features(table, frame, places, dtype):
    """Return the feature columns (l, n), NaN where missing."""
    for place in places:
        word = frame[place].iloc[0]
        if frame[place].dtype.kind not in "biuf" and word == word and not is_number(str(word), finite=False):
            raise DataError(
                f"{table.path}: the column {shown(table.first[place])} holds text ({shown(str(word))} in its first "
                "line), and features are numbers. Leave it out, or call it comment."
            )
    X = table.numbers(frame[places])
    with np.errstate(over="ignore"):
        found = X.astype(dtype or (np.float32 if X.size > MANY else np.float64), copy=False)
    if np.isinf(found).any():
        row, column = np.argwhere(np.isinf(found))[0]
        name, value = shown(table.first[places[column]]), X[row, column]
        why = f": {name} {INFINITE}"
        if np.isfinite(value):
            why = f" in {found.dtype}: {name} is {value:g}, which is larger than {found.dtype} holds"
        raise DataError(f"{_where(table, row)} has a feature that is not finite{why}. Correct or remove it.")
    return found


def _fill(table, X, offsets, null):
    """Replace NaN by the rule `null`, or raise DataError."""
    missing = np.isnan(X)
    if not missing.any():
        return
    if null == parse.NULL_ERROR:
        row = np.argmax(missing.any(axis=1))
        raise DataError(
            f"{_where(table, row)} has no feature's value (choose what it stands for with --null). Remove such rows "
            "first."
        )
    X[missing] = parse.NULL if null == parse.NULL_KEPT else 0
    if null == parse.NULL_KEPT:
        parse.fill_nulls(X, offsets)
