"""CPU solvers for sums over active pairs: direct counting (DCM) and an order-statistic tree (OST).

Both process a query's documents in ascending score. A document is inserted when the margin of the current one reaches
it, and adds its u to the sum of its relevance level; the sum above the current level is the sum over SV+ of Eq. (5).
With score and level negated, the same pass gives SV-.

DCM adds the levels above one by one, O(l k) for k levels: Joachims 2006, "Training linear SVMs in linear time". OST
stores sums of levels in the nodes of an implicit binary tree (Fenwick 1994), O(l log k): Airola et al. 2011, "Training
linear ranking SVMs in linearithmic time using red-black trees"; Lee and Lin 2014, "Large-scale linear rankSVM".
"""

import numpy as np

from gpukit._jit import njit
from gpukit.primitives.search import lower_bound
from gpukit.ranking.formulas import active
from gpukit.scheduler import by_block

BLOCKS = 64  # lists of queries for any number of threads, so that the result does not depend on it


def dcm(order, scores, level, offsets, u, sums):
    """sums: above_i = sum of u_j over SV_i^+ and below_i over SV_i^- (Eq. 5), by direct counting; see `ost`."""
    _pair_sums(order, scores, level, offsets, u, False, sums)


def ost(order, scores, level, offsets, u, sums):
    """sums: above_i = sum of u_j over SV_i^+ and below_i over SV_i^- (Eq. 5), by an order-statistic tree.

    order (l,) int32: positions in their query of its documents in ascending score; scores (l,) float64;
    level (l,) int32: dense ranks of the labels of a query, 0 the lowest; offsets (m + 1,) int64; u (l,) float64;
    sums: problem.Sums, overwritten. The same result with any number of threads.
    """
    _pair_sums(order, scores, level, offsets, u, True, sums)


@by_block(lambda: BLOCKS)
def _pair_sums(start, stop, order, scores, level, offsets, u, tree, sums):
    """See `ost`; tree: True to store sums in a tree."""
    queries, documents = offsets.size - 1, offsets[-1]
    for block in range(start, stop):
        first = lower_bound(offsets, documents * block // BLOCKS, 0, queries)
        after = lower_bound(offsets, documents * (block + 1) // BLOCKS, 0, queries)
        longest = 0
        for t in range(first, after):
            longest = max(longest, offsets[t + 1] - offsets[t])
        numbers, levels = np.empty((4, longest)), np.empty(longest, np.int32)
        for t in range(first, after):
            rows, size = slice(offsets[t], offsets[t + 1]), offsets[t + 1] - offsets[t]
            scratch = numbers[:, :size], levels[:size]
            _query(order[rows], scores[rows], level[rows], u[rows], tree, scratch, sums.above[rows], sums.below[rows])


@njit
def _query(order, scores, level, u, tree, scratch, plus, minus):
    """One query; scratch: numbers (4, n) and levels (n,)."""
    (s, v, sums, above), c = scratch
    levels = 0
    for r, i in enumerate(order):
        s[r], c[r], v[r] = scores[i], level[i], u[i]
        levels = max(levels, level[i] + 1)
    _sweep(s, c, v, tree, sums[:levels], above)
    for r, i in enumerate(order):
        plus[i] = above[r]
    _turn(s, c, v, levels)
    _sweep(s, c, v, tree, sums[:levels], above)
    for r, i in enumerate(order[::-1]):
        minus[i] = above[r]


@njit
def _turn(s, c, v, levels):
    """Negate scores and levels, still in ascending score."""
    last = s.size - 1
    for r in range((s.size + 1) // 2):
        s[r], s[last - r] = -s[last - r], -s[r]
        c[r], c[last - r] = levels - 1 - c[last - r], levels - 1 - c[r]
        v[r], v[last - r] = v[last - r], v[r]


@njit
def _sweep(s, c, v, tree, sums, above):
    """above[r] = sum of v[j] over c[j] > c[r] and s[j] - s[r] < 1, for ascending s; sums (levels,): scratch."""
    sums[:] = 0.0
    position = 0
    for r in range(s.size):
        while position < s.size and active(s[position], s[r]):
            if tree:
                _insert(sums, c[position], v[position])
            else:
                sums[c[position]] += v[position]
            position += 1
        above[r] = _sum_above(sums, c[r]) if tree else sums[c[r] + 1 :].sum()


@njit
def _insert(tree, node, value):
    """Add a value at level `node`: every node on the way to the root (0) has the sum of a run of levels that ends
    there."""
    while node > 0:
        tree[node] += value
        node &= node - 1


@njit
def _sum_above(tree, node):
    """Return the sum of the values inserted at levels above `node`."""
    total, node = 0.0, node + 1
    while node < tree.size:
        total += tree[node]
        node += node & -node
    return total


def loss_of_pairs(scores, problem):
    """Return the loss of all active pairs, added pair by pair to avoid cancellation; None for too many pairs.

    scores (l,) float64; problem: a problem.Problem.
    """
    tree = problem.tree
    most_visits = 50_000_000  # pairs visited one by one: a tenth of a second
    group = np.repeat(np.arange(len(tree.group_starts) - 1), np.diff(tree.group_starts))
    by_rank, gains, weights = np.empty((3, len(scores))), problem.gains, problem.document_weights
    for row, values in zip(by_rank, (scores, 1.0 if weights is None else weights, 0.0 if gains is None else gains)):
        row[tree.place] = values
    documents = by_rank[:, np.lexsort((by_rank[0], group))]
    groups = tree.first_group, tree.group_starts
    loss = _loss_of_pairs(*documents, float(gains is None), *groups, problem.weights, most_visits)
    return None if loss < 0.0 else loss


@njit
def _loss_of_pairs(scores, document_weights, gains, equal, first_group, group_starts, weights, most):
    """See `loss_of_pairs`; scores rise within each group of documents of one level. -1 after `most` visits.

    equal: 1, and gains of 0, for pairs without differences of gains.
    """
    total, visits = 0.0, 0
    for t in range(weights.size):
        loss = 0.0
        for high in range(first_group[t] + 1, first_group[t + 1]):
            for low in range(first_group[t], high):
                for i in range(group_starts[high], group_starts[high + 1]):
                    j = group_starts[low + 1] - 1
                    while j >= group_starts[low] and active(scores[i], scores[j]):
                        pair = document_weights[i] * document_weights[j] * (equal + gains[i] - gains[j])
                        loss += pair * (1.0 - (scores[i] - scores[j])) ** 2
                        j -= 1
                    visits += group_starts[low + 1] - j
                    if j == group_starts[low + 1] - 1 or visits > most:
                        break
                if visits > most:
                    return -1.0
        total += weights[t] * loss
    return total
