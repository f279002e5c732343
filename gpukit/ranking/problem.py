"""The data of a training: documents by query, the level tree, weights, assignment of queries to blocks."""

import heapq
from typing import NamedTuple

import numpy as np

from gpukit.errors import DataError
from gpukit.ranking import level_tree
from gpukit.ranking.arrays import Walk

QUERY_COST = 64  # cost of a query in addition to its documents, in documents


class Problem(NamedTuple):
    """X (l, n) float32 or float64, C-contiguous or CSR; tree of its labels; weights (m,) float64 of the queries.

    document_weights (l,) float64 or None for 1 each: the loss of a pair is multiplied by both and the query's; gains
    (l,) float64 or None: and by their difference.
    """

    X: object
    tree: level_tree.LevelTree
    weights: np.ndarray
    document_weights: np.ndarray | None = None
    gains: np.ndarray | None = None

    @property
    def n_pairs(self):
        """Number |P| of preference pairs of all queries."""
        return int(self.tree.pairs_of_queries().sum())

    @property
    def weighted_pairs(self):
        """Sum of the weights of all preference pairs."""
        if not self.is_weighted:
            return float(self.weights @ self.tree.pairs_of_queries())
        return float(self.pulls().sum()) / 2

    def pulls(self):
        """Return the sum of the weights of the pairs of each document, (l,) float64."""
        tree, weights, gains = self.tree, self.document_weights, self.gains
        if not self.is_weighted:
            return tree.pair_counts() * self.weights[tree.query]
        weights = np.ones(len(tree.query)) if weights is None else weights
        groups = tree.first_group[tree.query] + tree.level
        others = np.bincount(tree.query, weights)[tree.query] - np.bincount(groups, weights)[groups]
        if gains is not None:
            others = sum_differences(tree, weights, gains)[groups]
        return self.weights[tree.query] * weights * others

    @property
    def is_weighted(self):
        """True if pairs of one query have different weights."""
        return self.document_weights is not None or self.gains is not None


def sum_differences(tree, weights, gains):
    """Return the sum of own_j |g - g_j| over the documents j of its query, for the gain g of each group, (G,)."""
    groups, starts = tree.first_group[tree.query] + tree.level, tree.first_group[:-1]
    query = np.repeat(np.arange(len(starts)), np.diff(tree.first_group))
    gain = gains[np.unique(groups, return_index=True)[1]]
    weight = np.bincount(groups, weights)
    sums = np.zeros(len(gain))
    for level in range(int(np.diff(tree.first_group).max(initial=0))):  # a query has at most 31 gains
        other = starts[query] + level
        known = other < tree.first_group[query + 1]
        sums[known] += weight[other[known]] * np.abs(gain[known] - gain[other[known]])
    return sums


def check_gains(y):
    """Return 2^y (l,); DataError unless labels are whole numbers from 0 to 30, as in NDCG."""
    most = 30
    wrong = np.flatnonzero((y < 0) | (y > most) | (y != np.floor(y)))
    if len(wrong):
        raise DataError(
            f"The label {y[wrong[0]]:g} has no gain: pair_weights='gain' (--pair-weights gain) takes whole labels from "
            f"0 to {most}. Change the labels, or use pair_weights='equal'."
        )
    return 2.0**y


def make_problem(X, y, offsets, weights=None, document_weights=None, gains=None):
    """Return the Problem of documents in the order of their queries; DataError if no query has two levels."""
    tree = level_tree.build(y, offsets)
    weights = np.ones(len(offsets) - 1) if weights is None else np.asarray(weights, np.float64)
    if not tree.planes:
        raise DataError(
            f"No query has two different relevance labels ({len(y):,} documents, {len(offsets) - 1:,} queries), so "
            "there are no pairs to learn from. Check the labels, or the column that was taken for them."
        )
    return Problem(X, tree, weights, document_weights, gains)


def share_out(problem, blocks):
    """Return the arrays.Walk of a Problem: queries with pairs, longest first, each to the least loaded block.

    A block then processes its queries in their order, so that not all blocks are at their longest query at once.
    """
    tree = problem.tree
    sizes = np.diff(tree.offsets)
    with_pairs = np.flatnonzero(tree.heights)
    longest_first = with_pairs[np.argsort(-sizes[with_pairs], kind="stable")]
    heap, lists = [(0, block) for block in range(blocks)], [[] for _ in range(blocks)]
    for query, size in zip(longest_first.tolist(), sizes[longest_first].tolist(), strict=True):
        load, block = heap[0]
        heapq.heapreplace(heap, (load + size + QUERY_COST, block))
        lists[block].append(query)
    queries = np.concatenate([np.sort(np.array(part, np.int32)) for part in lists])
    firsts = np.append(0, np.cumsum([len(part) for part in lists])).astype(np.int32)
    return Walk(queries, firsts, tree.offsets, tree.heights, problem.weights)


def group_sizes(group, count):
    """Return offsets (m + 1,) int64 of a list of documents per query, as in LightGBM and XGBoost."""
    group = np.asarray(group)
    whole = group.ndim == 1 and group.dtype.kind in "iu"
    negative = whole and (group < 0)
    if not whole or np.any(negative) or group.sum() != count:
        described = (
            f"they add up to {group.sum():,}" if whole else f"its shape is {group.shape}, its dtype {group.dtype}"
        )
        if np.any(negative):
            described = f"group[{np.argmax(negative)}] is {group[np.argmax(negative)]:,}"
        raise DataError(
            f"group must list the documents of each query, whole numbers from 0 up that add up to {count:,}; "
            f"{described}. Query ids go into qid."
        )
    return np.append(0, np.cumsum(group[group > 0])).astype(np.int64)
