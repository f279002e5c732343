"""The table of learning to rank: documents with features and a relevance, grouped by query."""

from typing import NamedTuple

import numpy as np


class Documents(NamedTuple):
    """l documents of m queries with n features, each query's documents together, in the file's order.

    X (l, n) float32 or float64, C-contiguous, or scipy CSR of these; y (l,) the relevance, float64, or int64 where
    whole labels exceed 2^53; offsets (m+1,) int64: query t is the rows offsets[t]:offsets[t+1]; qids (m,) int64 or str,
    the ids as in the file; comments (l,) str, the text after each line's '#', or None when the file has none; weights
    (m,) float64, 0 or more, or None. A weight is a query's: what is learned from are pairs of a query's documents,
    which have no weight of one document.
    names (n,) str, the names of the features, each once, or None where they are numbered.
    """

    X: object
    y: np.ndarray
    offsets: np.ndarray
    qids: np.ndarray
    comments: np.ndarray | None = None
    weights: np.ndarray | None = None
    names: np.ndarray | None = None


def take_queries(documents, queries):
    """The Documents of the queries at an index array (q,), in that order."""
    queries = np.asarray(queries, dtype=np.int64)
    sizes = np.diff(documents.offsets)[queries]
    offsets = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    rows = np.repeat(documents.offsets[queries] - offsets[:-1], sizes) + np.arange(offsets[-1])
    comments = None if documents.comments is None else documents.comments[rows]
    weights = None if documents.weights is None else documents.weights[queries]
    X, y, qids = documents.X[rows], documents.y[rows], documents.qids[queries]
    return Documents(X, y, offsets, qids, comments, weights, documents.names)
