"""Table of documents with features and relevance, grouped by query."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from gpukit.typing import ArrayLike


class Documents(NamedTuple):
    """l documents of m queries with n features, grouped by query.

    Parameters
    ----------
    X : (l, n) float32 or float64
        Features, C-contiguous or scipy CSR.
    y : (l,) float64 or int64
        Relevance; int64 if whole labels exceed 2^53.
    offsets : (m+1,) int64
        Query t is the rows offsets[t]:offsets[t+1].
    qids : (m,) int64 or str
        Query ids as in the file.
    comments : (l,) str or None
        Text after each line's '#'; None if the file has none.
    weights : (m,) or (l,) float64 or None
        Weights of the queries, or of the documents, >= 0. The loss of a pair has the weight of its query, or the
        product of the weights of its documents.
    names : (n,) str or None
        Unique names of the features; None if they are numbered.

    Examples
    --------
    >>> import numpy as np
    >>> from gpukit import Documents
    >>> X, y = np.array([[1.0, 0.0], [0.2, 1.0], [0.9, 0.3]]), np.array([2.0, 0.0, 1.0])
    >>> Documents(X, y, offsets=np.array([0, 2, 3]), qids=np.array([7, 8])).qids
    array([7, 8])
    """

    X: Any
    y: np.ndarray
    offsets: np.ndarray
    qids: np.ndarray
    comments: np.ndarray | None = None
    weights: np.ndarray | None = None
    names: np.ndarray | None = None


def take_queries(documents: Documents, queries: ArrayLike) -> Documents:
    """Return the Documents of the queries at indices (q,), in that order."""
    queries = np.asarray(queries, dtype=np.int64)
    sizes = np.diff(documents.offsets)[queries]
    offsets = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    rows = np.repeat(documents.offsets[queries] - offsets[:-1], sizes) + np.arange(offsets[-1])
    comments = None if documents.comments is None else documents.comments[rows]
    weights = documents.weights
    if weights is not None:
        weights = weights[queries if len(weights) == len(documents.qids) else rows]
    X, y, qids = documents.X[rows], documents.y[rows], documents.qids[queries]
    return Documents(X, y, offsets, qids, comments, weights, documents.names)
