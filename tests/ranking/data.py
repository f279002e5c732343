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


def relative(a, b):
    """||a - b|| / ||b||."""
    return float(np.linalg.norm(np.subtract(a, b)) / np.linalg.norm(b))
