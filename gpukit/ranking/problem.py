"""The data of a training: documents by query, weights, assignment of queries to blocks, the level tree of the labels.

Labels do not change with w, so the tree is made once. Documents of a query are sorted by level. In plane 0 a *child* is
one level, in plane h it is arity**h adjacent levels, and `arity` children make a node. Two documents of different
levels are in different children of one node in exactly one plane. With each child sorted by score, the partners of
document i among a sibling's documents are a prefix (sibling of higher levels) or a suffix (of lower ones), and their
sum is one difference of prefix sums: at most (arity - 1) * ceil(log k / log arity) differences per document for k
levels. A few levels (MSLR) take one plane; a total order of 1,831 takes 11 planes of arity 2.
"""

import heapq
from typing import NamedTuple

import numpy as np

from gpukit.errors import DataError
from gpukit.scheduler import by_block
from gpukit.sorting import cpu as sorting

QUERY_COST = 64  # cost of a query in addition to its documents, in documents


class Ranks(NamedTuple):
    """Positions of the levels.

    query, level (l,) int32: of the document at each rank; first_group (m + 1,) int32: the first group of each query;
    group_starts (G + 1,) int32: the first rank of each group.
    """

    query: np.ndarray
    level: np.ndarray
    first_group: np.ndarray
    group_starts: np.ndarray


class Partners(NamedTuple):
    """Positions of the partners of every document at the current scores; see kernels.pair_sums.search_plane.

    tables (H, 2 A - 1, l) uint16 or int32, for H planes of a tree of arity A; counts (2, l) int32.
    """

    tables: np.ndarray
    counts: np.ndarray


class Walk(NamedTuple):
    """Assignment of queries to blocks.

    queries (q,) int32: those with pairs, block after block; firsts (blocks + 1,) int32: the start of each block;
    offsets (m + 1,) int32, heights (m,) int32 and weights (m,) float64 of all queries.
    """

    queries: np.ndarray
    firsts: np.ndarray
    offsets: np.ndarray
    heights: np.ndarray
    weights: np.ndarray


class Sums(NamedTuple):
    """Sums over SV_i^+ and SV_i^- of each document (Eq. 5): above, below (l,) float64."""

    above: np.ndarray
    below: np.ndarray


class Csr(NamedTuple):
    """A sparse matrix by rows: indptr (rows + 1,), indices (nnz,) integers; values (nnz,) float32 or float64."""

    indptr: np.ndarray
    indices: np.ndarray
    values: np.ndarray


MOST = np.iinfo(np.int32).max  # documents: the tree's tables count them in 32 bits


class LevelTree(NamedTuple):
    """Static tables. l documents in m queries, G (query, level) groups; "rank" counts in the order (query, level).

    offsets       (m + 1,) int32    query t is documents offsets[t] : offsets[t + 1]
    query         (l,) int32        query of each document, and of each rank
    level         (l,) int32        dense level of each document in its query, 0 the lowest
    place         (l,) int32        rank of each document
    documents     (l,) int32        document at each rank, counted from its query's first
    rank_level    (l,) int32        level at each rank
    first_group   (m + 1,) int32    first group of each query
    group_starts  (G + 1,) int32    first rank of each group
    heights       (m,) int32        planes that the query needs; 0 when it has one level (no pairs)
    arity         children a node
    """

    offsets: np.ndarray
    query: np.ndarray
    level: np.ndarray
    place: np.ndarray
    documents: np.ndarray
    rank_level: np.ndarray
    first_group: np.ndarray
    group_starts: np.ndarray
    heights: np.ndarray
    arity: int

    @property
    def planes(self):
        """Planes of the deepest query."""
        return int(self.heights.max(initial=0))

    @property
    def longest(self):
        """Number of documents of the longest query."""
        return int(np.diff(self.offsets).max(initial=0))

    def pairs_of_queries(self):
        """Number of preference pairs of each query, (m,) int64."""
        squares = np.append(0, np.cumsum(np.diff(self.group_starts).astype(np.int64) ** 2))
        return (np.diff(self.offsets).astype(np.int64) ** 2 - np.diff(squares[self.first_group])) // 2


def build_tree(y, offsets, arity=None):
    """Return the LevelTree of relevance y (l,) and offsets (m + 1,).

    arity: None to choose it by the largest number of levels. Raises DataError for more than MOST documents.
    """
    if len(y) > MOST:
        raise DataError(f"RankSVM takes up to {MOST:,} documents; there are {len(y):,}. Train on fewer queries.")
    y, offsets = np.require(y, np.float64, "W"), np.asarray(offsets, np.int64)  # read-only: loops are compiled anew
    l, m = len(y), len(offsets) - 1
    query, documents, rank_level, place, level = np.empty((5, l), np.int32)
    levels, fresh = np.empty(m, np.int32), np.empty(l, np.bool_)
    sorting.argsort(y, sorting.plan(offsets, np.float64), documents)
    _number_levels(y, offsets, documents, query, rank_level, place, level, levels, fresh)
    group_starts = np.append(np.flatnonzero(fresh), l).astype(np.int32)
    first_group = np.append(0, np.cumsum(levels)).astype(np.int32)
    arity = arity or choose_arity(int(levels.max(initial=1)))
    return LevelTree(
        offsets.astype(np.int32),
        query,
        level,
        place,
        documents,
        rank_level,
        first_group,
        group_starts,
        heights(levels, arity),
        arity,
    )


@by_block(lambda offsets: offsets.size - 1)
def _number_levels(start, stop, y, offsets, documents, query, rank_level, place, level, levels, fresh):
    """Set the tables of LevelTree from `documents`, levels (m,) of each query, and fresh (l,): a group's first rank."""
    for t in range(start, stop):
        number = -1
        for rank in range(offsets[t], offsets[t + 1]):
            i = offsets[t] + documents[rank]
            fresh[rank] = rank == offsets[t] or y[i] != y[offsets[t] + documents[rank - 1]]
            number += 1 if fresh[rank] else 0
            query[rank], rank_level[rank], place[i], level[i] = t, number, rank, number
        levels[t] = number + 1


def choose_arity(levels):
    """Return the arity: all levels under one node for a few levels, otherwise 2."""
    flat = 8  # up to this number of levels per query, all are children of one node
    return max(levels, 2) if levels <= flat else 2


def heights(levels, arity):
    """(m,) int32: the least h with arity**h >= levels."""
    result, reach = np.zeros(len(levels), np.int32), np.ones(len(levels), np.int64)
    while (more := reach < levels).any():
        result[more] += 1
        reach[more] *= arity
    return result


def index_dtype(longest):
    """Return the dtype of positions within a query: two bytes if they suffice."""
    return np.uint16 if longest < 1 << 16 else np.int32


class Problem(NamedTuple):
    """X (l, n) float32 or float64, C-contiguous or CSR; tree of its labels; weights (m,) float64 of the queries.

    document_weights (l,) float64 or None for 1 each: the loss of a pair is multiplied by both and the query's; gains
    (l,) float64 or None: and by their difference.
    """

    X: object
    tree: LevelTree
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
            sizes, levels = np.diff(tree.group_starts), np.diff(tree.first_group)
            others = np.repeat(np.diff(tree.offsets), levels) - sizes
            return np.repeat(others * np.repeat(self.weights, levels), sizes)[tree.place]
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
    tree = build_tree(y, offsets)
    weights = np.ones(len(offsets) - 1) if weights is None else np.asarray(weights, np.float64)
    if not tree.planes:
        raise DataError(
            f"No query has two different relevance labels ({len(y):,} documents, {len(offsets) - 1:,} queries), so "
            "there are no pairs to learn from. Check the labels, or the column that was taken for them."
        )
    return Problem(X, tree, weights, document_weights, gains)


def share_out(problem, blocks):
    """Return the problem.Walk of a Problem: queries with pairs, longest first, each to the least loaded block.

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
