"""Answers do not depend on the order of the vertices."""

import numpy as np
import pytest

from gpukit import GraphImputer

METHODS = [
    *("kriging", "regularized-em", "spectral"),
    *(pytest.param(name, marks=pytest.mark.slow) for name in ("trend", "smoothness", "local")),
]


def table(seed):
    """Return a weighted adjacency with two isolated vertices, and series (N, T) on it, one of them without values."""
    rng, N, T = np.random.default_rng(seed), 8, 36
    A = np.triu(rng.random((N, N)) * (rng.random((N, N)) < 0.4), 1)
    A[:2] = A[:, :2] = 0.0
    values = rng.normal(size=(N, 2)) @ np.cumsum(rng.normal(size=(2, T)), axis=1) + 0.3 * rng.normal(size=(N, T))
    values[rng.random((N, T)) < 0.2] = np.nan
    values[3, 12:20] = values[4, -6:] = values[5] = np.nan
    return A + A.T, values


def fill(A, values, method):
    return GraphImputer(method=method, device="cpu").fit(A, values, times=np.arange(values.shape[1])).completed_


@pytest.mark.parametrize("method", METHODS)
def test_the_order_of_the_vertices(method):
    A, values = table(1)
    order = np.random.default_rng(1).permutation(len(A))
    other = fill(A[np.ix_(order, order)], values[order], method)
    np.testing.assert_allclose(other, fill(A, values, method)[order], rtol=0, atol=1e-4 * np.nanstd(values))
