"""The nearest neighbours on the graph: those with the heaviest edges."""

import numpy as np

from gpukit.imputation.baselines.means import level
from gpukit.imputation.problem import Method, always

COUNTS = (3, 10)


def settings(problem):
    """How many neighbours, and what is taken off before."""
    return [{"neighbors": count, "center": center} for center in ("columns", "both") for count in COUNTS]


def fill(problem, setting):
    """The mean of the neighbours that are observed in the same column, by weight; the mean where none of them is."""
    base = level(problem, setting["center"])
    rest = np.where(problem.seen, problem.values - base, 0.0)
    W = heaviest(problem.adjacency, setting["neighbors"])
    weight = W @ problem.seen.astype(np.float64)
    return base + np.divide(W @ rest, weight, out=np.zeros(rest.shape), where=weight > 0)


def heaviest(adjacency, count):
    """csr (N, N): of each row of an adjacency the `count` heaviest entries; the first where weights are equal."""
    from scipy import sparse

    rows = np.repeat(np.arange(adjacency.shape[0]), np.diff(adjacency.indptr))
    order = np.lexsort((adjacency.indices, -adjacency.data, rows))
    rank = np.arange(len(order)) - adjacency.indptr[rows[order]]
    kept = order[rank < count]
    return sparse.csr_matrix((adjacency.data[kept], (rows[kept], adjacency.indices[kept])), adjacency.shape)


METHODS = (Method("neighbors", always, settings, fill, alone=True),)
