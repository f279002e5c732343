"""Graph of the smoothness: edges weighted by the similarity of their ends' changes."""

import numpy as np

from gpukit._pool import shared_out
from gpukit.graphs.adjacency import normalized_laplacian
from gpukit.imputation.constants import BLOCK_NUMBERS, PRIOR_CHANGES

NUMBERS, COLUMNS = 1 << 24, 256  # changes of all edges for the similarity; least columns


def laplacian_of(adjacency, values, seen, alike):
    """Return csr (N, N) float64: the normalized Laplacian of a graph with weights times similarity^alike.

    alike = 0: the graph's own weights. values (N, T), seen (N, T) bool.
    """
    from scipy import sparse

    if not alike:
        return normalized_laplacian(adjacency)
    edges = sparse.coo_array(adjacency)
    half = edges.row < edges.col
    row, column = edges.row[half], edges.col[half]
    block = slice(0, max(COLUMNS, NUMBERS // max(1, len(row))))
    weights = edges.data[half] * likeness(values[:, block], seen[:, block], row, column) ** alike
    both = np.r_[weights, weights], (np.r_[row, column], np.r_[column, row])
    return normalized_laplacian(sparse.csr_array(both, shape=edges.shape))


def likeness(values, seen, row, column):
    """Return (E,) above 0: the squared positive correlation of column-to-column changes of vertex pairs.

    Pairs with few common changes are shrunk to the mean of all pairs.
    """
    there = seen[:, 1:] & seen[:, :-1]
    change = np.where(there, np.diff(values, axis=1), 0.0).astype(np.float32)
    count, product = np.zeros(len(row)), np.zeros((3, len(row)))
    each = max(1, BLOCK_NUMBERS // max(1, there.shape[1]))

    def correlate_changes(first):
        block = slice(first, first + each)
        pairs = (row[block], column[block]), (row[block], row[block]), (column[block], column[block])
        both = (there[row[block]] & there[column[block]]).astype(np.float32)
        count[block] = both.sum(axis=1)
        for number, (one, other) in enumerate(pairs):
            product[number, block] = np.einsum("ij,ij,ij->i", change[one], change[other], both)

    shared_out(correlate_changes, range(0, len(row), each))
    size = product[1] * product[2]
    squares = np.where(size > 0.0, np.maximum(product[0], 0.0) ** 2 / np.where(size > 0.0, size, 1.0), 0.0)
    usual = float(count @ squares / count.sum()) if count.any() else 1.0
    return (count * squares + PRIOR_CHANGES * max(usual, 1e-3)) / (count + PRIOR_CHANGES)
