"""Small documents of queries for whole trainings."""

from typing import NamedTuple

import numpy as np

from ranking import inputs


class Set(NamedTuple):
    """X (l, n) float64, y (l,), offsets (m + 1,), qid (l,) int64."""

    X: np.ndarray
    y: np.ndarray
    offsets: np.ndarray
    qid: np.ndarray

    def taken(self, rows):
        """Return (X, y, qid) of these rows."""
        return self.X[rows], self.y[rows], self.qid[rows]


def make(lengths=(12, 1, 30, 7, 33, 2), levels=3, n=5, seed=0):
    """Return queries of these lengths (levels 0: total orders); ids neither ascending nor dense."""
    at = inputs.queries(lengths, levels, seed=seed)
    ids = np.random.default_rng(seed).permutation(len(lengths)) * 7 - 3
    return Set(inputs.features(at, n, seed).astype(np.float64), at.y, at.offsets, np.repeat(ids, lengths))


def make_graded(queries=60, size=12, features=10, noise=1.0, seed=0, scales=1.0):
    """Return (X, y, qid) of a linear relevance of half of the features, in five grades."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(queries * size, features))
    score = X[:, : features // 2].sum(axis=1) + noise * np.sqrt(features / 2) * rng.normal(size=len(X))
    grades = np.digitize(score, np.quantile(score, [0.5, 0.75, 0.9, 0.97])).astype(float)
    return X * scales, grades, np.repeat(np.arange(queries), size)


def exchange_documents(X, y, qid, weights, seed):
    """Return the same documents in another order of queries, of documents in each, and with other ids."""
    rng = np.random.default_rng(seed)
    names = rng.permutation(10 * (qid.max() + 1))[: qid.max() + 1]
    order = np.concatenate([rng.permutation(np.flatnonzero(qid == one)) for one in rng.permutation(np.unique(qid))])
    if seed % 2:
        order = rng.permutation(order)  # queries interleaved
    return X[order], y[order], names[qid[order]], weights[order]


def relative(a, b):
    """||a - b|| / ||b||."""
    return float(np.linalg.norm(np.subtract(a, b)) / np.linalg.norm(b))
