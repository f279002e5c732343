"""CPU twins of kernels/gram.py: the same names, the same arguments in the same order."""

import numpy as np

from gpukit._jit import copy_row, njit
from gpukit.scheduler import by_block


@by_block(lambda pulls: pulls.size)
def pair_pulls(start, stop, ranks, level, offsets, weights, pulls):
    """Twin of kernels.gram.pair_pulls."""
    for k in range(stop - start):
        i = start + k
        t = ranks.query[i]
        group = ranks.first_group[t] + level[i]
        same = ranks.group_starts[group + 1] - ranks.group_starts[group]
        pulls[i] = weights[t] * (offsets[t + 1] - offsets[t] - same)


@by_block(lambda means: means.shape[0])
def query_means(start, stop, X, offsets, pulls, means):
    """Twin of kernels.gram.query_means."""
    for t in range(start, stop):
        weight = 0.0
        means[t] = 0.0
        for i in range(offsets[t], offsets[t + 1]):
            weight += pulls[i]
            for f in range(means.shape[1]):
                means[t, f] += pulls[i] * X[i, f]
        if weight > 0.0:
            for f in range(means.shape[1]):
                means[t, f] /= weight


@njit
def _centre_rows(X, means, query, pulls, first, rows):
    """rows[k] = sqrt(pull) (x - mean) of document first + k; 0 beyond the last one."""
    for k in range(rows.shape[0]):
        i = first + k
        if i < pulls.size:
            root = np.sqrt(pulls[i])
            for f in range(rows.shape[1]):
                rows[k, f] = root * (X[i, f] - means[query[i], f])
        else:
            rows[k] = 0.0


@by_block(lambda partial: partial.shape[0], blas=True)
def weighted_gram(start, stop, X, means, query, pulls, tiles, partial):
    """Twin of kernels.gram.weighted_gram, by matrix products; a thread for every share, without tiles.

    Products are small, because BLAS's own threads would wait busily while those of the training run.
    """
    n, shares = means.shape[1], partial.shape[0]
    one_thread = 250_000  # multiplications of a product up to which BLAS uses the calling thread
    count = max(8, min(256, one_thread // (n * n)))
    for share in range(start, stop):
        rows, total = np.empty((count, n)), np.zeros((n, n))
        for first in range(share * count, pulls.size, shares * count):
            _centre_rows(X, means, query, pulls, first, rows)
            total += np.dot(rows.T, rows)
        for f in range(n):
            copy_row(total[f], partial[share, f])
