"""Small graph tensors with all kinds of missing values."""

from typing import NamedTuple

import numpy as np
from graphs import naive

from imputation import naive_algorithm

KINDS = ("slices", "entries", "both", "one vertex", "one entry")
SHAPES = ((5, 4), (3, 7), (1, 6), (6, 1), (1, 1), (2, 2))


class Problem(NamedTuple):
    """Data of a test.

    A (N, N) dense, U (N, N), mu (N,), truth (N, m, n) float64, mask (N,) or (N, m, n) bool.
    """

    A: np.ndarray
    U: np.ndarray
    mu: np.ndarray
    truth: np.ndarray
    mask: np.ndarray


def problem(shape=(5, 4), kind="slices", N=30, rank=1, seed=0):
    """Return a Problem on a random weighted graph."""
    rng = np.random.default_rng(seed)
    A = naive.random_graph(N, 0.3, seed) + 0.1 * (naive.path_graph(N) + np.eye(N, k=N - 1) + np.eye(N, k=1 - N))
    mu, U = naive_algorithm.basis(A)
    truth = naive_algorithm.low_rank(U, *shape, min(rank, *shape), rng)
    return Problem(A, U, mu, truth, missing(kind, truth.shape, rng))


def missing(kind, shape, rng):
    """Return a mask with about a fifth missing."""
    by_vertex = np.ones(shape[0], bool)
    by_vertex[rng.permutation(shape[0])[: shape[0] // 5]] = False
    by_entry = rng.random(shape) > 0.2
    by_entry.reshape(-1)[3] = False
    if kind == "slices":
        return by_vertex
    if kind == "entries":
        return by_entry
    if kind == "both":
        return by_entry & by_vertex[:, None, None]
    mask = np.ones(shape[0] if kind == "one vertex" else shape, bool)
    mask[4 if kind == "one vertex" else (4, 0, 0)] = False
    return mask


def with_nan(tensor, mask):
    """Return a copy with NaN where the mask is False."""
    tensor = tensor.copy()
    tensor[~mask] = np.nan
    return tensor


def completed(completion):
    """Return (N, m, n) of a completion: the observed values, and the estimate elsewhere."""
    out = np.array(completion.observed)
    out[~completion.mask] = completion.missing()
    return out
