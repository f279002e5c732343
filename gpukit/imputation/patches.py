"""Samples of the vertices of large graphs: patches, so that most vertices keep their neighbours."""

import numpy as np

PATCHES, VERTICES = 16, 512  # patches at least, and vertices of one about; chosen


def choose_patches(adjacency, count, rng):
    """Return `count` vertices of a graph, csr (N, N), in ascending order.

    Patches grow from random vertices, all by their neighbours at a time. If they fill their components, others begin,
    twice as many each time. The share of isolated vertices is that of the graph.
    """
    order, is_joined = rng.permutation(adjacency.shape[0]), np.diff(adjacency.indptr) > 0
    joined, isolated = order[is_joined[order]], order[~is_joined[order]]
    alone = max(round(count * len(isolated) / len(order)), count - len(joined))
    is_chosen = np.zeros(len(order), bool)
    is_chosen[isolated[:alone]] = True
    missing, starts, front = count - alone, max(PATCHES, count // VERTICES), joined[:0]
    while missing:
        if not len(front):
            front, starts = joined[~is_chosen[joined]][:starts], 2 * starts
        if len(front) > missing:
            front = rng.permutation(front)[:missing]
        is_chosen[front] = True
        missing -= len(front)
        near = np.unique(adjacency[front].indices)
        front = near[~is_chosen[near]]
    return np.flatnonzero(is_chosen)
