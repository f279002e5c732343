"""The level tree of a set of queries: sums of the scores above and below every document.

Labels do not change with w, so the tree is made once. Documents of a query are sorted by level. In plane 0 a *child* is
one level, in plane h it is arity**h adjacent levels, and `arity` children make a node. Two documents of different
levels are in different children of one node in exactly one plane. With each child sorted by score, the partners of
document i among a sibling's documents are a prefix (sibling of higher levels) or a suffix (of lower ones), and their
sum is one difference of prefix sums: at most (arity - 1) * ceil(log k / log arity) differences per document for k
levels. A few levels (MSLR) take one plane; a total order of 1,831 takes 11 planes of arity 2.
"""

from typing import NamedTuple

import numpy as np

from gpukit.errors import DataError
from gpukit.scheduler import by_block
from gpukit.sorting import cpu as sorting

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

    def pair_counts(self):
        """Number of documents of other levels in the query of each document, (l,) int64."""
        sizes, groups = np.diff(self.offsets), np.diff(self.group_starts)
        return (sizes[self.query] - groups[self.first_group[self.query] + self.level]).astype(np.int64)


def build(y, offsets, arity=None):
    """Return the LevelTree of relevance y (l,) and offsets (m + 1,).

    arity: None to choose it by the largest number of levels. Raises DataError for more than MOST documents.
    """
    if len(y) > MOST:
        raise DataError(f"RankSVM takes up to {MOST:,} documents; there are {len(y):,}. Train on fewer queries.")
    offsets = np.asarray(offsets, np.int64)
    l, m = len(y), len(offsets) - 1
    query, documents, rank_level, place, level = np.empty((5, l), np.int32)
    levels, fresh = np.empty(m, np.int32), np.empty(l, np.bool_)
    sorting.argsort(np.asarray(y, np.float64), sorting.plan(offsets, np.float64), documents)
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
