"""Difficult queries for pair statistics: one document, one level, total orders, ties, pairs exactly at the margin."""

from typing import NamedTuple

import numpy as np

SCORES = {
    "normal": lambda rng, n: rng.normal(size=n),
    "margins": lambda rng, n: rng.integers(-12, 13, n) / 4,  # many ties, many differences of exactly 1
    "equal": lambda rng, n: np.full(n, 0.3),
    "narrow": lambda rng, n: rng.uniform(0, 0.9, n),  # every pair is active
    "wide": lambda rng, n: 50 * rng.normal(size=n),  # a few are, on both sides
    "rounded": lambda rng, n: 1 / 3 * rng.integers(0, 60, n),  # s_i - s_j < 1 but not s_i < s_j + 1, by rounding
}
CASES = {  # lengths of the queries, levels of the labels (0: a total order), scores
    "no query": ([], 3, "normal"),
    "empty queries": ([0, 4, 0, 0, 7, 0], 3, "normal"),
    "single documents": ([1, 1, 1, 1], 3, "normal"),
    "one level": ([5, 33, 1, 64], 1, "normal"),
    "two levels": ([2, 1, 31, 32, 33, 5], 2, "margins"),
    "three levels": ([121, 8, 1, 40, 66], 3, "normal"),
    "five levels at the margin": ([130, 2, 64, 65, 127], 5, "margins"),
    "five levels, rounded": ([90, 3, 64], 5, "rounded"),
    "equal scores": ([40, 3], 4, "equal"),
    "all active": ([50, 70], 6, "narrow"),
    "few active": ([50, 70], 6, "wide"),
    "total order": ([257, 1, 2, 100], 0, "normal"),
    "total order at the margin": ([128, 129], 0, "margins"),
    "long and short": ([700] + [3] * 40, 9, "normal"),
    "2,000 levels": ([2000, 300], 0, "margins"),
}
SMALL = ["empty queries", "single documents", "one level", "two levels", "equal scores", "total order at the margin"]


class Queries(NamedTuple):
    """y, s, u (l,) float64; offsets (m+1,) int64; order, level (l,) int32: ranks, dense levels."""

    y: np.ndarray
    s: np.ndarray
    u: np.ndarray
    offsets: np.ndarray
    order: np.ndarray
    level: np.ndarray


def queries(lengths, levels, scores="normal", seed=0):
    """Return queries of these lengths; labels of `levels` values, not whole numbers (0: all of a query different)."""
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    size = int(offsets[-1])
    y = [rng.integers(0, levels, n) if levels else rng.permutation(n) for n in lengths]
    y = 0.5 * np.concatenate([*y, np.empty(0)]) - 1
    s = SCORES[scores](rng, size).astype(np.float64)
    return Queries(y, s, rng.normal(size=size), offsets, ascending(s, offsets), dense(y, offsets))


def case(name, seed=0):
    """Return the Queries of a case of CASES."""
    return queries(*CASES[name], seed=seed)


def features(at, n, seed=0):
    """Return X (l, n) float32 for the queries: correlated, of uneven scale, partly in agreement with the labels."""
    rng = np.random.default_rng(seed)
    X = rng.gamma(0.5, size=(len(at.y), n)) @ rng.normal(size=(n, n)) / n + 0.1 * at.y[:, None]
    return np.ascontiguousarray(X, np.float32)


def ascending(s, offsets):
    """Return query-relative positions in ascending score, equal scores by position."""
    parts = [np.argsort(s[b:e], kind="stable") for b, e in zip(offsets[:-1], offsets[1:])]
    return np.concatenate([*parts, np.empty(0)]).astype(np.int32)


def dense(y, offsets):
    """Return the dense rank of each label in its query, 0 the lowest."""
    parts = [np.unique(y[b:e], return_inverse=True)[1] for b, e in zip(offsets[:-1], offsets[1:])]
    return np.concatenate([*parts, np.empty(0)]).astype(np.int32)
