"""The series most similar to each vertex's own, which predict its missing values."""

import numpy as np

from gpukit._pool import by_rows
from gpukit.imputation.simple import heaviest

ALL = 2048  # largest number of vertices whose pairs are all compared


def most_similar(series, alive, adjacency, count):
    """Return (N, count) int32: for each vertex the others with the highest correlation, in descending order.

    series (N, T) float32, complete; alive (N,) bool: vertices with observations; others come last. With many vertices
    only graph neighbours are compared, and the first ones fill up lists with too few.
    """
    whole = np.empty(series.shape, np.float32)
    by_rows(lambda rows: scaled(series[rows], whole[rows]), series.shape)
    if len(series) <= ALL:
        return best(whole @ whole.T, alive, count)
    return of_graph(whole, alive, adjacency, count)


def scaled(series, out):
    """Write out = series (n, T) less their means, of length 1."""
    out[:] = series - series.mean(axis=1, keepdims=True)
    size = np.linalg.norm(out, axis=1)
    out /= np.where(size > 0, size, 1)[:, None]


def best(correlation, alive, count):
    """Return (N, count) int32: the columns with the highest correlation, except for the vertex itself."""
    correlation[:, ~alive] = -2.0
    np.fill_diagonal(correlation, -3.0)
    return np.argsort(-correlation, axis=1, kind="stable")[:, :count].astype(np.int32)


def of_graph(whole, alive, adjacency, count):
    """Run best() among the neighbours on a graph."""
    near = heaviest(adjacency, 32)
    rows = np.repeat(np.arange(len(whole)), np.diff(near.indptr))
    correlations = np.empty(len(rows), np.float32)

    def correlate_pairs(pairs):
        correlations[pairs] = np.einsum("ij,ij->i", whole[rows[pairs]], whole[near.indices[pairs]])

    by_rows(correlate_pairs, (len(rows), whole.shape[1]))
    correlations[~alive[near.indices]] = -2.0
    order = np.lexsort((-correlations, rows))
    out = np.repeat(np.arange(len(whole), dtype=np.int32)[:, None], count, axis=1)  # features of itself are 0
    rank = np.arange(len(order)) - near.indptr[rows]
    kept = rank < count
    out[rows[order][kept], rank[kept]] = near.indices[order][kept]
    return out
