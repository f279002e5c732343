"""CPU twins of kernels/matrix.py: the same names, the same arguments in the same order."""

import numpy as np

from gpukit._jit import copy_row, njit
from gpukit.scheduler import by_block


@njit
def row_dot(row, v):
    """Return the sum of row * v in float64 over v's length (a row may be padded)."""
    total = 0.0
    for f in range(v.size):
        total += row[f] * v[f]
    return total


@by_block(lambda scores: scores.size)
def document_scores(start, stop, X, w, scores):
    """Twin of kernels.matrix.document_scores."""
    for k in range(stop - start):
        i = start + k
        scores[i] = row_dot(X[i], w)


@by_block(lambda partial: partial.shape[0])
def transposed_product(start, stop, X, z, partial):
    """Twin of kernels.matrix.transposed_product: a thread for every row of partial."""
    n, share = partial.shape[1], (z.size + partial.shape[0] - 1) // partial.shape[0]
    for block in range(start, stop):
        total = np.zeros(n)
        for i in range(block * share, min(block * share + share, z.size)):
            row, factor = X[i], z[i]
            if factor != 0.0:
                for f in range(n):
                    total[f] += factor * row[f]
        copy_row(total, partial[block])


@by_block(lambda out: out.size)
def csr_product(start, stop, A, v, out):
    """Twin of kernels.matrix.csr_product."""
    for row in range(start, stop):
        total = 0.0
        for t in range(A.indptr[row], A.indptr[row + 1]):
            total += A.values[t] * v[A.indices[t]]
        out[row] = total


@by_block(lambda scores: scores.size)
def by_rank(start, stop, scores, place, keys):
    """Twin of kernels.matrix.by_rank."""
    for k in range(stop - start):
        i = start + k
        keys[place[i]] = scores[i]


@by_block(lambda X: X.shape[0])
def pad_rows(start, stop, X, out):
    """Twin of kernels.matrix.pad_rows."""
    n = X.shape[1]
    for row in range(start, stop):
        copy_row(X[row], out[row])
        out[row, n:] = 0


@by_block(lambda total: total.size)
def add_rows(start, stop, partial, total):
    """Twin of kernels.matrix.add_rows."""
    for column in range(start, stop):
        running = 0.0
        for row in range(partial.shape[0]):
            running += partial[row, column]
        total[column] = running


@by_block(lambda pulls: pulls.size)
def pair_pulls(start, stop, ranks, level, offsets, weights, pulls):
    """Twin of kernels.matrix.pair_pulls."""
    for k in range(stop - start):
        i = start + k
        t = ranks.query[i]
        group = ranks.first_group[t] + level[i]
        same = ranks.group_starts[group + 1] - ranks.group_starts[group]
        pulls[i] = weights[t] * (offsets[t + 1] - offsets[t] - same)


@by_block(lambda means: means.shape[0])
def query_means(start, stop, X, offsets, pulls, means):
    """Twin of kernels.matrix.query_means."""
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
    """Twin of kernels.matrix.weighted_gram, by matrix products; a thread for every share, without tiles.

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
