"""Validate documents that were made by hand or read from files."""

import numpy as np

from gpukit.errors import DataError
from gpukit.io import trust

FLOATS = (np.float32, np.float64)


def sound(documents):
    """Return documents, or raise DataError for an invalid table.

    Checked: dtypes and shapes; offsets that split the documents into queries of 1 or more; one unique id per query;
    column numbers of a CSR X; finite features and relevance; weights >= 0.
    """
    _check_features(documents.X)
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


def _check_features(X):
    shape = getattr(X, "shape", ())
    if len(shape) != 2 or not shape[0] or not shape[1]:
        raise DataError(f"X must be a table, documents x features, at least one of each; its shape is {shape}.")
    if isinstance(X, np.ndarray):
        trust.check_array("X", X, FLOATS, (None, None))
    elif getattr(X, "format", None) != "csr" or X.dtype not in FLOATS:
        raise DataError(
            f"X must be an array or CSR of float32 or float64; got {type(X).__name__}. as_documents converts."
        )
    else:
        trust.check_sparse("X", X)


def _check_queries(documents):
    rows, offsets, qids = documents.X.shape[0], documents.offsets, documents.qids
    if not isinstance(qids, np.ndarray) or qids.ndim != 1 or qids.dtype.kind not in "iuU":
        raise DataError("Documents.qids must be a one-dimensional array of integers or text, an id a query.")
    whole = isinstance(offsets, np.ndarray) and offsets.ndim == 1 and offsets.dtype == np.int64
    cut = whole and len(offsets) == len(qids) + 1 and offsets[0] == 0 and offsets[-1] == rows
    if not cut or (offsets[1:] <= offsets[:-1]).any():
        raise DataError(
            f"The offsets of Documents do not cut their {rows:,} documents into {len(qids):,} queries of 1 or more."
        )
    if trust.repeated(qids) is not None:
        raise DataError("Documents.qids names a query twice; the documents of a query must stand together.")


def check_names(names):
    """Raise DataError for a repeated feature name of (n,); None passes."""
    twice = None if names is None else trust.repeated(np.asarray(names, str))
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
    X, y, weights = documents.X, documents.y, documents.weights
    bad = np.flatnonzero(~np.isfinite(y))
    if len(bad):
        raise DataError(f"y[{bad[0]}] is {y[bad[0]]}: every document needs a relevance, a finite number.")
    place = _not_finite(X)
    if place:
        row, column = place
        raise DataError(f"X[{row}, {column}] is {X[row, column]}. Fill it in, or leave the document out.")
    if weights is not None and not ((weights >= 0) & np.isfinite(weights)).all():
        wrong = int(np.argmin((weights >= 0) & np.isfinite(weights)))
        raise DataError(f"weights[{wrong}] is {weights[wrong]}; weights are finite numbers from 0 up.")


def _not_finite(X):
    """Return (row, column) of the first non-finite entry of X, or None."""
    if isinstance(X, np.ndarray):
        return trust.first(trust.not_finite, X)
    place = trust.first(trust.not_finite, X.data[: X.indptr[-1]])
    return place and (int(np.searchsorted(X.indptr, place[0], "right")) - 1, int(X.indices[place[0]]))
