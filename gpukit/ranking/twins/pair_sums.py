"""CPU twins of kernels/pair_sums.py: the same names, the same arguments in the same order."""

import numpy as np

from gpukit._jit import njit, prange
from gpukit.ranking.formulas import loss_share
from gpukit.ranking.twins.matrix import row_dot


@njit
def _prefix_sums(table, begin, size, u, sums):
    """sums[r] = sum of u over the first r documents in the plane's order."""
    running = 0.0
    for r in range(size):
        sums[r] = running
        running += u[table[0, begin + r]]
    sums[size] = running


@njit
def _subtract_partners(table, begin, size, sums, z):
    """z[i] -= the partners' sum of u in one plane."""
    for slot in range(table.shape[0] // 2):
        for i in range(size):
            a, b = table[1 + 2 * slot, begin + i], table[2 + 2 * slot, begin + i]
            z[i] -= sums[max(a, b)] - sums[min(a, b)]


@njit
def pair_sums_of_query(margin, begin, size, height, tables, counts, weight, u, sums, z):
    """z = weight * (A'A u - margin A'e) of one query; the sum of `loss_share`. u, z, sums: scratch of size + 1."""
    for i in range(size):
        z[i] = counts[0, begin + i] * u[i]
    for plane in range(height):
        _prefix_sums(tables[plane], begin, size, u, sums)
        _subtract_partners(tables[plane], begin, size, sums, z)
    total = 0.0
    for i in range(size):  # nothing is written here: else where the arrays lie would decide how the sum is vectorized
        total += loss_share(u[i], z[i], margin, counts[0, begin + i], counts[1, begin + i])
    for i in range(size):
        z[i] = weight * (z[i] - margin * counts[1, begin + i])
    return weight * total


@njit
def _walk_query(X, v, margin, begin, size, height, tables, counts, weight, u, sums, z, total):
    """Add X_t' z to total[:n] and the loss to total[n]."""
    n = v.size
    for i in range(size):
        u[i] = row_dot(X[begin + i], v)
    total[n] += pair_sums_of_query(margin, begin, size, height, tables, counts, weight, u, sums, z)
    for i in range(size):
        row, factor = X[begin + i], z[i]
        if factor != 0.0:
            for f in range(n):
                total[f] += factor * row[f]


@njit
def _longest(offsets):
    """Documents of the longest query."""
    longest = 0
    for t in range(offsets.size - 1):
        longest = max(longest, offsets[t + 1] - offsets[t])
    return longest


@njit(parallel=True)
def pair_product(X, v, margin, offsets, queries, firsts, heights, tables, counts, weights, partial):
    """Twin of kernels.pair_sums.pair_product: a thread for every row of partial."""
    longest = _longest(offsets)
    for block in prange(firsts.size - 1):
        total, u, sums, z = np.zeros(v.size + 1), np.empty(longest), np.empty(longest + 1), np.empty(longest)
        for at in range(firsts[block], firsts[block + 1]):
            t = queries[at]
            size = offsets[t + 1] - offsets[t]
            _walk_query(X, v, margin, offsets[t], size, heights[t], tables, counts, weights[t], u, sums, z, total)
        partial[block] = total


@njit(parallel=True)
def pair_sums(u, margin, offsets, queries, firsts, heights, tables, counts, weights, z, loss):
    """Twin of kernels.pair_sums.pair_sums."""
    longest = _longest(offsets)
    for block in prange(firsts.size - 1):
        sums, total = np.empty(longest + 1), 0.0
        for at in range(firsts[block], firsts[block + 1]):
            t = queries[at]
            begin, end = offsets[t], offsets[t + 1]
            total += pair_sums_of_query(
                margin, begin, end - begin, heights[t], tables, counts, weights[t], u[begin:end], sums, z[begin:end]
            )
        loss[block] = total


@njit(parallel=True)
def combine(u, margin, above, below, plus, minus, weights, z, loss):
    """Twin of kernels.pair_sums.combine."""
    for i in prange(u.size):
        count, difference = above[i] + below[i], below[i] - above[i]
        product = count * u[i] - plus[i] - minus[i]
        loss[i] = weights[i] * loss_share(u[i], product, margin, count, difference)
        z[i] = weights[i] * (product - margin * difference)
