"""Weights between items by a regression of each item on its neighbours, for more items than fit a dense matrix.

    w_j = (G_SS + lambda (n / (N - 1))^(1/3) I)^-1 G_Sj,    G = X'X,  S the n most similar items of item j

The fewer neighbours share what an item has in common with others, the less shrinkage is best; with all other items the
weights are those of EASE.
"""

import numpy as np

from gpukit.device.engine import engine
from gpukit.neighbors.item_knn import click_neighbors
from gpukit.ratings.orders.order import order_ratings


def solve_weights(clicks, ridge, n_neighbors, device):
    """Return B (N, N) as a scipy.sparse.csr_array of Ratings: at most n_neighbors weights in a column."""
    from scipy.sparse import csr_array

    n_items, orders = clicks.shape[1], order_ratings(clicks, device)
    neighbors, _ = click_neighbors(orders, max(1, min(n_neighbors, n_items - 1)), device)
    decay = np.float32(ridge * (neighbors.shape[1] / max(1, n_items - 1)) ** (1 / 3))
    steps = engine(device, "gpukit.factorization.solvers")
    weights = steps.regress_on_neighbors(neighbors, orders.by_item, len(orders.by_user.indptr), decay)
    columns, is_used = np.arange(n_items, dtype=np.int32), neighbors >= 0
    columns = np.repeat(columns, is_used.sum(axis=1))
    return csr_array((weights[is_used], (neighbors[is_used], columns)), (n_items, n_items))


def memory_of(n_items, n_neighbors):
    """Return the bytes of main memory of neighbours, cosines and weights, and of their copies by row."""
    return 28 * n_items * n_neighbors
