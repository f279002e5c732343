"""The nearest neighbours on the graph: those with the heaviest edges."""

import numpy as np

from gpukit.imputation.baselines.means import level
from gpukit.imputation.problem import Method, always

COUNTS = (3, 10)


def settings(problem):
    """Return numbers of neighbours and centerings."""
    return [{"neighbors": count, "center": center} for center in ("columns", "both") for count in COUNTS]


def fill(problem, setting):
    """Return the weighted mean of neighbours observed in the same column, or the mean without such neighbours."""
    base = level(problem, setting["center"])
    rest = np.where(problem.seen, problem.values - base, 0.0)
    W = heaviest(problem.adjacency, setting["neighbors"])
    weight = W @ problem.seen.astype(np.float64)
    return base + np.divide(W @ rest, weight, out=np.zeros(rest.shape), where=weight > 0)


def heaviest(adjacency, count):
    """Return csr (N, N) of the `count` heaviest entries of each row; the first of equal weights."""
    from scipy import sparse

    rows = np.repeat(np.arange(adjacency.shape[0]), np.diff(adjacency.indptr))
    order = np.lexsort((adjacency.indices, -adjacency.data, rows))
    rank = np.arange(len(order)) - adjacency.indptr[rows[order]]
    kept = order[rank < count]
    return sparse.csr_matrix((adjacency.data[kept], (rows[kept], adjacency.indices[kept])), adjacency.shape)


METHODS = (Method("neighbors", always, settings, fill, alone=True),)
