"""The series most like a vertex's own: what its missing values are told from."""

import numpy as np

from gpukit._pool import by_rows
from gpukit.imputation.baselines.nearest import heaviest

ALL = 2048  # vertices that are all compared with each other; of more, neighbours on the graph
GRAPH = 32  # neighbours on the graph that are compared then


def alike(series, alive, adjacency, count):
    """(N, count) int32: of every vertex the others whose series correlate most with its own, the most first.

    series (N, T) float32, whole; alive (N,) bool: which have values of their own; others come last. Of a graph of many
    vertices neighbours alone are compared, and the first stand for those that have too few.
    """
    whole = np.empty(series.shape, np.float32)
    by_rows(lambda rows: scaled(series[rows], whole[rows]), series.shape)
    if len(series) <= ALL:
        return best(whole @ whole.T, alive, count)
    return of_graph(whole, alive, adjacency, count)


def scaled(series, out):
    """out = series (n, T) less their means, of length 1."""
    out[:] = series - series.mean(axis=1, keepdims=True)
    size = np.linalg.norm(out, axis=1)
    out /= np.where(size > 0, size, 1)[:, None]


def best(correlation, alive, count):
    """(N, count) int32: the columns with the highest correlation, but for the vertex itself."""
    correlation[:, ~alive] = -2.0
    np.fill_diagonal(correlation, -3.0)
    return np.argsort(-correlation, axis=1, kind="stable")[:, :count].astype(np.int32)


def of_graph(whole, alive, adjacency, count):
    """best() among the neighbours on a graph."""
    near = heaviest(adjacency, GRAPH)
    rows = np.repeat(np.arange(len(whole)), np.diff(near.indptr))
    found = np.empty(len(rows), np.float32)

    def told(some):
        found[some] = np.einsum("ij,ij->i", whole[rows[some]], whole[near.indices[some]])

    by_rows(told, (len(rows), whole.shape[1]))
    found[~alive[near.indices]] = -2.0
    order = np.lexsort((-found, rows))
    out = np.repeat(np.arange(len(whole), dtype=np.int32)[:, None], count, axis=1)  # itself: its features are 0
    rank = np.arange(len(order)) - near.indptr[rows]
    kept = rank < count
    out[rows[order][kept], rank[kept]] = near.indices[order][kept]
    return out
