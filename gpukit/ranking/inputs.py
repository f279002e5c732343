"""Input validation: features, relevance, queries and their weights."""

import math
import warnings
from typing import NamedTuple

import numpy as np

from gpukit.base.arrays import (
    align_rows,
    as_numbers,
    as_plain,
    labels,
    to_ordered_floats,
)
from gpukit.documents.adopt import (
    as_documents,
    as_features,
    check_finite,
    check_names,
    given_names,
    relevance,
    split_queries,
)
from gpukit.documents.table import Documents
from gpukit.errors import DataError
from gpukit.io.arrays import as_frame


class Queries(NamedTuple):
    """Grouping of documents into queries.

    rows (l,) int64: the position of each document in the input, or None if they are in the order of queries; offsets (m
    + 1,) int64; ids (m,) in the order of first documents, or None if only counts are known.
    """

    rows: np.ndarray | None
    offsets: np.ndarray
    ids: np.ndarray | None

    def ordered(self, array):
        """Return the rows of an array (l, ...) in the order of queries."""
        return array if self.rows is None else array[self.rows]

    def restored(self, values):
        """Return values (l,) of the order of queries in the order of the input."""
        if self.rows is None:
            return values
        out = np.empty_like(values)
        out[self.rows] = values
        return out


class Occurring(NamedTuple):
    """Columns of a wide sparse matrix that have entries: columns (k,) int64, ascending, of n_features."""

    columns: np.ndarray
    n_features: int

    def select(self, X):
        """Return these columns of X (l, any) as CSR (l, k); warn of values in other columns, which are ignored."""
        shown = 5  # feature numbers in a warning
        from scipy.sparse import csr_matrix

        X = X if hasattr(X, "indptr") else csr_matrix(X)
        places = np.minimum(np.searchsorted(self.columns, X.indices), len(self.columns) - 1)
        known = self.columns[places] == X.indices
        unseen = np.unique(X.indices[~known & (X.data != 0)])
        if len(unseen):
            numbers = ", ".join(f"{number + 1:,}" for number in unseen[:shown].tolist())
            warnings.warn(
                f"{len(unseen):,} features never occurred in training and are ignored: number {numbers}"
                f"{', ...' if len(unseen) > shown else ''}.",
                stacklevel=2,
            )
        indptr = np.append(0, np.cumsum(known))[X.indptr].astype(X.indptr.dtype)
        return csr_matrix(
            (X.data[known], places[known].astype(X.indices.dtype), indptr), (X.shape[0], len(self.columns))
        )


class Inputs(NamedTuple):
    """Validated inputs in the order of the queries.

    X (l, n): dense or CSR, float32 or float64; y (l,) float64; names:
    column names, an Occurring for a reduced X, or None; weights (l,) float64 of the documents and query_weights (m,)
    float64, or None for 1 each.
    """

    X: object
    y: np.ndarray
    queries: Queries
    names: object
    weights: np.ndarray | None = None
    query_weights: np.ndarray | None = None


def is_wide(X, names):
    """Return True for a sparse X (l, n) with more than the limit of columns, without names."""
    wide = 1 << 20  # columns above which those without entries are omitted; a vector of fewer takes 8 MiB at most
    return hasattr(X, "indptr") and X.shape[1] > wide and names is None


def narrow_inputs(inputs):
    """Return Inputs without names that count from 0 and without empty columns of a wide sparse X (weights 0)."""
    X, inputs = inputs.X, inputs._replace(names=given_names(inputs.names))
    if not is_wide(X, inputs.names):
        return inputs
    columns = np.unique(X.indices).astype(np.int64)
    known = Occurring(columns if len(columns) else np.zeros(1, np.int64), X.shape[1])
    return inputs._replace(X=known.select(X), names=known)


def read(X, y=None, qid=None, group=None, query_weight=None, sample_weight=None, feature_names=None):
    """Return Inputs of the arguments of fit; DataError for missing, inconsistent or nonfinite data."""
    if isinstance(X, Documents):
        check_own_queries(y, qid, group)
        X = as_documents(X)
        matrix, names, y, queries = X.X, X.names, X.y, Queries(None, X.offsets, X.qids)
        of_queries, of_documents = (X.weights, None) if np.shape(X.weights) == X.qids.shape else (None, X.weights)
        query_weight = of_queries if query_weight is None else query_weight
        sample_weight = of_documents if sample_weight is None else sample_weight
    else:
        X, y, qid = align_rows(X=X, y=y, qid=qid)
        matrix, names = features(X)
        queries = Queries(*split_queries(qid, group, matrix.shape[0]))
    if feature_names is not None:
        names = np.asarray(feature_names, object)
        if names.shape != matrix.shape[1:]:
            raise DataError(f"feature_names has {names.size:,} names, X {matrix.shape[1]:,} columns.")
    check_names(names)
    y = to_ordered_floats(relevance(y, matrix.shape[0]))
    if sample_weight is not None:
        sample_weight = queries.ordered(document_weights(sample_weight, X, matrix.shape[0]))
    if query_weight is not None:
        query_weight = query_weights(weights_given(query_weight, X), queries, group)
    if not (sample_weight is None and query_weight is None):
        check_products(sample_weight, query_weight, matrix.shape[0])
    return Inputs(queries.ordered(matrix), queries.ordered(y), queries, names, sample_weight, query_weight)


def eval_sets(sets, groups=None, qids=None):
    """Return [(X, y, qid, group)] of eval_set, eval_group and eval_qid; DataError if their lengths differ."""
    sets = [] if sets is None else sets
    wrong = not isinstance(sets, list | tuple) or isinstance(sets, Documents)
    if wrong or not all(isinstance(pair, Documents) or len(pair) == 2 for pair in sets):
        raise DataError("eval_set must be a list of (X, y) or Documents.")
    for name, identifiers in (("eval_group", groups), ("eval_qid", qids)):
        if identifiers is not None and len(identifiers) != len(sets):
            raise DataError(
                f"{name} must have an entry for each of the {len(sets):,} eval sets; it has {len(identifiers):,}."
            )
    groups, qids = ([None] * len(sets) if each is None else each for each in (groups, qids))
    return [
        (pair, None, qid, group) if isinstance(pair, Documents) else (*pair, qid, group)
        for pair, qid, group in zip(sets, qids, groups)
    ]


def check_own_queries(*columns):
    """Raise DataError for y, qid or group next to Documents; None passes."""
    if any(column is not None for column in columns):
        raise DataError("Documents bring relevance and queries of their own: leave y, qid and group out.")


def query_weights(values, queries, group=None):
    """Return weights of the queries (m,) float64.

    values: (m,) in the order of first documents (or of group), (l,) with one weight per document, equal within a
    query, or {qid: weight}; further queries in a dict are ignored.
    """
    count = len(queries.offsets) - 1
    weights = _look_up_weights(values, queries) if isinstance(values, dict) else values
    weights = as_numbers("query_weight", weights).astype(np.float64)
    if group is not None and weights.shape == np.shape(group):
        weights = weights[np.asarray(group) > 0]
    elif weights.shape == (queries.offsets[-1],) != (count,):
        weights = _weights_of_documents(weights, queries)
    if weights.shape != (count,):
        raise DataError(
            f"query_weight must hold a weight a query, {count:,}, in the order of their first documents, or a weight a "
            f"document, {queries.offsets[-1]:,}, or be a dict by query id; its shape is {weights.shape}."
        )
    return check_weights("query_weight", weights)


def document_weights(values, X, count):
    """Return sample_weight of fit as (l,) float64 in the order of the input X."""
    values = align_rows(X=X, sample_weight=values)[1]
    weights = as_numbers("sample_weight", as_plain(values)).astype(np.float64)
    if weights.shape != (count,):
        raise DataError(f"sample_weight must hold a weight a document, {count:,}; its shape is {weights.shape}.")
    return check_weights("sample_weight", weights)


def check_weights(name, weights):
    """Return weights; DataError for one that is negative or not finite, or if all are 0."""
    wrong = ~(np.isfinite(weights) & (weights >= 0))
    if wrong.any() or not weights.any():
        what = f"{name}[{np.argmax(wrong)}] is {weights[np.argmax(wrong)]}" if wrong.any() else "All are 0"
        raise DataError(f"Weights are numbers from 0 up, not all 0. {what}.")
    return weights


def check_products(weights, per_query, count):
    """Raise DataError if weights of documents (l,) and queries (m,), or None, have pairs whose sum overflows."""
    largest = [1.0 if each is None else float(each.max()) for each in (weights, weights, per_query)]
    if not math.isfinite(math.prod([*largest, count, count])):
        raise DataError(
            f"The weights are so large, up to {max(largest):g}, that their products overflow. Divide them by a number."
        )


def weights_given(weights, X):
    """Return query_weight of fit in the form of `query_weights`.

    A pandas column becomes (l,) in the order of X's rows if it has X's labels
    (or X's length, if X has no labels), otherwise {query id: weight}.
    """
    if labels(weights) is None:
        return weights
    if isinstance(X, Documents) or (labels(X) is None and len(weights) != np.shape(X)[0]):
        return weights.to_dict()
    same = labels(X) is None or (len(weights) == len(X) and not len(labels(X).difference(labels(weights))))
    return as_plain(align_rows(X=X, query_weight=weights)[1]) if same else weights.to_dict()


def _weights_of_documents(weights, queries):
    """Return weights of queries (m,) from weights (l,) of documents in the order of the input."""
    ordered = queries.ordered(weights)
    first = ordered[queries.offsets[:-1]]
    wrong = np.flatnonzero(ordered != np.repeat(first, np.diff(queries.offsets)))
    if len(wrong):
        query = int(np.searchsorted(queries.offsets, wrong[0], "right")) - 1
        raise DataError(
            f"query_weight differs within query {query if queries.ids is None else queries.ids[query]}: "
            f"{first[query]:g} and {ordered[wrong[0]]:g}. Give all documents of a query one weight, or {{qid: weight}}."
        )
    return first


def _look_up_weights(values, queries):
    if queries.ids is None:
        raise DataError("query_weight is a dict by query id, but group has no ids. Give qid, or a list of weights.")
    ids = queries.ids.tolist()
    lacking = [qid for qid in ids if qid not in values]
    if lacking:
        raise DataError(f"query_weight has no weight of query {lacking[0]!r} ({len(lacking):,} of {len(ids):,} lack).")
    return [values[qid] for qid in ids]


def features(X):
    """Return (X as C-contiguous float32 or float64, or CSR; column names or None); DataError for an invalid table.

    float32 is kept, everything else becomes float64. Documents are validated.
    """
    if isinstance(X, Documents):
        X = as_documents(X)
        return X.X, X.names
    X, names = as_features(as_frame(X))
    check_finite(X, names)
    return X, names
