"""Adopt arrays, data frames and Documents made by hand as Documents: converted once, validated once.

as_documents: the converter of X's form (`as_features`: sparse, data frame, array), y, queries; then the checks
validate_documents: the checks of Documents read from files, whose arrays have been converted before
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpukit.base.arrays import align_rows, as_array, as_labels, as_numbers, as_text
from gpukit.documents.table import Documents
from gpukit.errors import DataError
from gpukit.io import trust
from gpukit.io.arrays import as_frame, is_frame, whole_column
from gpukit.io.ids import factorize, id_array

if TYPE_CHECKING:
    from gpukit.typing import ArrayLike, DocumentsLike

NULL_ERROR, NULL_ZERO, NULL_KEPT = range(3)  # rules for a NULL token
NULL = np.float32(np.inf)  # marks a kept NULL; no finite number is read as infinity
MANY = 1 << 27  # numbers of features above which they are float32: 1 GiB of float64


def as_documents(
    X: DocumentsLike,
    y: ArrayLike | None = None,
    qid: ArrayLike | None = None,
    group: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    comments: ArrayLike | None = None,
) -> Documents:
    """Convert arrays or a DataFrame to validated Documents.

    Parameters
    ----------
    X : (l, n) numbers, DataFrame or Documents
        Dense or scipy sparse; float32 stays, other types become float64. The names of a DataFrame's columns are kept as
        text. Documents made by hand are validated.
    y : (l,)
        Relevance. Whole labels beyond 2^53 stay int64.
    qid : (l,)
        Query ids, int64 or text. The documents of a query are made adjacent; queries are in order of their first
        documents. Pandas' X, y and qid are matched by their labels.
    group : (m,)
        Alternative to qid: the number of documents of each query, in order; the ids are then 1 to m.
    weights : (m,) or (l,)
        Weights of the queries, in that order, or of the documents, in the order of X.
    comments : (l,)
        Text.

    Raises DataError with the position for missing, invalid or infinite values and for sizes that do not agree.
    """
    is_made = isinstance(X, Documents)
    documents = _normalize(X) if is_made else _from_columns(X, y, qid, group, weights, comments)
    _check_shape(documents.X, least=1)
    return _check_columns(documents)


def _from_columns(X, y, qid, group, weights, comments):
    """Return the Documents of the arguments of as_documents, each query's documents adjacent."""
    X, y, qid = align_rows(X=as_frame(X), y=y, qid=qid)
    matrix, names = as_features(X)
    y = relevance(y, matrix.shape[0])
    order, offsets, qids = split_queries(qid, group, matrix.shape[0])
    if qids is None:
        qids = np.arange(1, len(offsets), dtype=np.int64)
    else:
        numbers, ids = factorize(qids, "query")
        qids = ids[numbers]
    comments, weights, _ = _convert_optional(comments, weights, None)
    if comments is not None and comments.shape != y.shape:
        raise DataError(f"comments must hold one text a document, {len(y):,}; its shape is {comments.shape}.")
    if order is not None:
        if weights is not None and weights.shape == y.shape != qids.shape:
            weights = weights[order]
        matrix, y, comments = matrix[order], y[order], None if comments is None else comments[order]
    return Documents(matrix, y, offsets, qids, comments, weights, names)


def given_names(names):
    """Return names (n,), or None for pandas' default numbers."""
    return None if names is None or np.array_equal(names, np.arange(len(names)).astype(str)) else names


def _normalize(documents):
    """Return documents with a table's dtypes; unchanged if correct."""
    X, y, offsets, qids, comments, weights, names = documents
    (X, _), y = as_features(X), as_labels("y", y)
    offsets, qids = as_array(offsets, "offsets"), as_array(qids, "qids")
    if offsets.dtype.kind in "iu":
        offsets = offsets.astype(np.int64, copy=False)
    result = Documents(X, y, offsets, qids, *_convert_optional(comments, weights, names))
    return documents if all(column is other for column, other in zip(documents, result)) else result


def _convert_optional(comments, weights, names):
    """Return optional columns as text, float64 and text; None stays None."""
    comments = None if comments is None else as_text(as_array(comments, "comments"))
    names = None if names is None else as_text(as_array(names, "names"))
    return comments, None if weights is None else as_numbers("weights", weights).astype(np.float64, copy=False), names


def as_features(X):
    """Return (X as C-contiguous float32 or float64, or CSR of these; names of a DataFrame's columns (n,) or None).

    Checked but for finite values.
    """
    names = list(map(str, X.columns)) if is_frame(X) else []
    if hasattr(X, "tocsr"):
        X = _from_sparse(X)
    else:
        X = _from_frame(X) if is_frame(X) else as_numbers("X", X)
        X = np.ascontiguousarray(X, X.dtype if X.dtype == np.float32 else np.float64)
    _check_shape(X, least=0)
    return X, np.array(names) if names else None


def _from_sparse(X):
    """Return a sparse X as CSR of float32 or float64, sorted, without duplicates."""
    trust.check_sparse("X", X)
    if X.format != "csr":
        X = X.tocsr()
        trust.check_sparse("X", X)
    if X.dtype not in (np.float32, np.float64):
        as_numbers("X", X.data)
        X = X.astype(np.float64)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def _from_frame(frame):
    """Return a numeric DataFrame as (l, n); nullable dtypes are supported.

    Raises DataError with row and column of a missing value.
    """
    single = all(str(kind).lower() == "float32" for kind in frame.dtypes)
    X = np.empty(frame.shape, dtype=np.float32 if single else np.float64)
    for place, name in enumerate(frame.columns):
        values = whole_column(frame.iloc[:, place], f"value of feature {name!r}")
        try:
            X[:, place] = as_numbers("column", values)
        except DataError as error:
            raise DataError(f"Column {name!r} of X holds no numbers ({error}) Encode or drop it.") from None
    return X


def relevance(y, count):
    """Return y as (l,) float64 or int64; DataError for another length or a number that is not finite."""
    if y is None:
        raise DataError("Documents need a relevance each: give y, or Documents as read_letor's.")
    y = as_labels("y", y)
    if y.shape != (count,):
        raise DataError(f"y must hold one relevance a document, {count:,}; its shape is {y.shape}.")
    _check_relevance(y)
    return y


def split_queries(qid, group, count):
    """Return (order (l,) or None, offsets (m+1,) int64, ids (m,), None with group) of qid or group, one of them given.

    order makes the documents of each query adjacent.
    """
    if (qid is None) == (group is None):
        what = "Neither qid nor group is" if qid is None else "Both qid and group are"
        raise DataError(
            f"{what} given. Give qid, the query id of each document, or group, the number of documents of "
            f"each query; for one single query group=[{count}]."
        )
    if not count:
        raise DataError("There are no documents: X has 0 rows.")
    if group is not None:
        return None, group_offsets(group, count), None
    qid = id_array(as_array(qid, "qid"), "query")
    if qid.dtype.kind == "O" and len({isinstance(value, str) for value in qid}) > 1:
        raise DataError("qid mixes text and numbers. Make all ids numbers or all text.")
    return group_rows(qid, count)


def group_rows(qid, count):
    """Return (rows, offsets, ids) of a column of query ids.

    rows (l,) int64, or None if they are in order; offsets (m + 1,) int64; ids (m,). Queries are in the order of their
    first documents, documents of a query in their order in the input.
    """
    qid = np.asarray(qid)
    if qid.shape != (count,):
        raise DataError(f"qid must hold one query id a document, {count:,}; it has shape {qid.shape}.")
    changes = np.append(0, np.flatnonzero(qid[1:] != qid[:-1]) + 1)[:count]
    ids, first, number = np.unique(qid[changes], return_index=True, return_inverse=True)
    if len(ids) == len(changes):
        return None, np.append(changes, count), qid[changes]
    order = np.argsort(first, kind="stable")
    rank = np.empty(len(ids), np.int64)
    rank[order] = np.arange(len(ids))
    number = np.repeat(rank[number.ravel()], np.diff(np.append(changes, count)))
    rows = np.argsort(number, kind="stable")
    return rows, np.append(0, np.cumsum(np.bincount(number))), ids[order]


def group_offsets(group, count):
    """Return offsets (m + 1,) int64 of a list of documents per query, as in LightGBM and XGBoost; without empty ones.

    Raises DataError unless they are whole numbers from 0 up that add up to count.
    """
    group = as_array(group, "group")
    whole = group.ndim == 1 and group.dtype.kind in "iu"
    if not whole or (group < 0).any() or group.sum() != count:
        described = f"its shape is {group.shape}, its dtype {group.dtype}"
        if whole:
            negative = np.flatnonzero(group < 0)
            described = f"they add up to {group.sum():,}"
            described = f"group[{negative[0]}] is {group[negative[0]]:,}" if len(negative) else described
        raise DataError(
            f"group must list the documents of each query, whole numbers from 0 up that add up to {count:,}; "
            f"{described}. Query ids go into qid."
        )
    return np.append(0, np.cumsum(group[group > 0])).astype(np.int64)


def validate_documents(documents):
    """Return documents, or raise DataError for an invalid table.

    Checked: dtypes and shapes; offsets that split the documents into queries of 1 or more; one unique id per query;
    column numbers of a CSR X; finite features and relevance; weights >= 0.
    """
    X = documents.X
    _check_shape(X, least=1)
    if isinstance(X, np.ndarray):
        trust.check_array("X", X, (np.float32, np.float64), (None, None))
    elif getattr(X, "format", None) != "csr" or X.dtype not in (np.float32, np.float64):
        raise DataError(
            f"X must be an array or CSR of float32 or float64; got {type(X).__name__}. as_documents converts."
        )
    else:
        trust.check_sparse("X", X)
    return _check_columns(documents)


def _check_shape(X, least):
    """Raise DataError unless X is a table of features with at least this number of documents."""
    shape = getattr(X, "shape", ())
    if len(shape) != 2 or shape[0] < least or not shape[1]:
        raise DataError(f"X must be a table, documents x features, at least one of each; its shape is {shape}.")


def _check_columns(documents):
    """Return Documents with a valid X; DataError for its values and for other columns."""
    _check_queries(documents)
    rows, queries = documents.X.shape[0], len(documents.qids)
    columns = (
        ("y", rows, "fi"),
        ("comments", rows, "U"),
        ("weights", rows if np.shape(documents.weights) == (rows,) else queries, "f"),
        ("names", documents.X.shape[1], "U"),
    )
    for name, size, kind in columns:
        _check_column(name, getattr(documents, name), size, kind)
    check_names(documents.names)
    _check_numbers(documents)
    return documents


def _check_queries(documents):
    rows, offsets, qids = documents.X.shape[0], documents.offsets, documents.qids
    if not isinstance(qids, np.ndarray) or qids.ndim != 1 or qids.dtype.kind not in "iuU":
        raise DataError("Documents.qids must be a one-dimensional array of integers or text, an id a query.")
    whole = isinstance(offsets, np.ndarray) and offsets.ndim == 1 and offsets.dtype == np.int64
    is_partition = whole and len(offsets) == len(qids) + 1 and offsets[0] == 0 and offsets[-1] == rows
    if not is_partition or (offsets[1:] <= offsets[:-1]).any():
        raise DataError(
            f"The offsets of Documents do not cut their {rows:,} documents into {len(qids):,} queries of 1 or more."
        )
    if trust.first_repeated(qids) is not None:
        raise DataError("Documents.qids names a query twice; the documents of a query must stand together.")


def check_names(names):
    """Raise DataError for a repeated feature name of (n,); None passes."""
    twice = None if names is None else trust.first_repeated(np.asarray(names, str))
    if twice is not None:
        raise DataError(f"Two features are named {str(twice)!r}. Rename or drop one: features are matched by name.")


def _check_column(name, column, size, kind):
    if column is None and name != "y":
        return
    if np.shape(column) != (size,):
        raise DataError(f"Documents.{name} has the shape {np.shape(column)}; ({size:,},) is needed.")
    of_kind = isinstance(column, np.ndarray) and column.dtype.kind in kind
    if not of_kind or (kind != "U" and column.dtype not in (np.float64, np.int64)):
        wanted = "text" if kind == "U" else "float64"
        raise DataError(f"Documents.{name} must be an array of {wanted}. as_documents converts.")


def _check_numbers(documents):
    _check_relevance(documents.y)
    check_finite(documents.X, documents.names)
    weights = documents.weights
    if weights is not None and not ((weights >= 0) & np.isfinite(weights)).all():
        wrong = int(np.argmin((weights >= 0) & np.isfinite(weights)))
        raise DataError(f"weights[{wrong}] is {weights[wrong]}; weights are finite numbers from 0 up.")


def _check_relevance(y):
    wrong = ~np.isfinite(y)
    if wrong.any():
        raise DataError(
            f"y[{np.argmax(wrong)}] is {y[np.argmax(wrong)]}: every document needs a relevance, a finite number."
        )


def check_finite(X, names=None):
    """Raise DataError for the first non-finite entry of X (l, n), dense or CSR; names (n,) of its columns or None."""
    values = X if isinstance(X, np.ndarray) else X.data[: X.indptr[-1]]
    place = trust.first_wrong(trust.non_finite_mask, values)
    if place is None:
        return
    row, column = place if len(place) == 2 else (np.searchsorted(X.indptr, place[0], "right") - 1, X.indices[place[0]])
    label = "" if names is None else f" ({str(names[column])!r})"
    shown = "NaN" if np.isnan(values[place]) else values[place]
    raise DataError(f"X[{row}, {column}]{label} is {shown}. Fill it in, or leave the document out.")


def is_unknown(values):
    """Return a mask of values that mark missing ones: the largest float64, see _is_largest."""
    values, least = np.asarray(values, np.float64), 1.7976e308
    return (values >= least) & (values != np.inf)


def fill_nulls(X, offsets):
    """Replace NULL in X (l, n), dense or CSR, by the feature's minimum in the query.

    It is 0 if all values are NULL, and for CSR at most 0 if an entry is not stored.
    """
    if isinstance(X, np.ndarray):
        smallest = np.minimum.reduceat(X, offsets[:-1], axis=0)
        rows, columns = np.nonzero(X == NULL)
        result = smallest[np.searchsorted(offsets, rows, "right") - 1, columns]
        X[rows, columns] = np.where(result == NULL, 0, result)
        return
    queries = np.repeat(np.arange(len(offsets) - 1), np.diff(X.indptr[offsets]))
    keys, which, stored = np.unique(queries * X.shape[1] + X.indices, return_inverse=True, return_counts=True)
    smallest = np.full(len(keys), np.inf)
    np.minimum.at(smallest, which, X.data)
    is_absent = stored < np.diff(offsets)[keys // X.shape[1]]
    smallest = np.where(is_absent, np.minimum(smallest, 0), smallest)
    X.data = np.where(X.data == NULL, np.where(smallest == np.inf, 0, smallest)[which], X.data).astype(X.dtype)
