"""Named tuples of arrays for host code, kernels and twins; level_tree.py describes how they are made.

l documents in m queries, G (query, level) groups; "rank" counts in the order (query, level).
"""

from typing import NamedTuple

import numpy as np


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
    """Positions of the partners of every document at the current scores; see kernels.level_tree.search_plane.

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
