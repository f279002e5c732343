"""Arrays that go through host code, kernels and twins together, as named tuples; level_tree.py says how they are made.

l documents in m queries, G (query, level) groups; "rank" counts in the order (query, level).
"""

from typing import NamedTuple

import numpy as np


class Ranks(NamedTuple):
    """Where levels begin: query, level (l,) int32 of the document at each rank; first_group (m + 1,) int32, the first
    group of each query; group_starts (G + 1,) int32, the first rank of each group."""

    query: np.ndarray
    level: np.ndarray
    first_group: np.ndarray
    group_starts: np.ndarray


class Partners(NamedTuple):
    """Where every document's partners stand at the scores at hand; kernels.level_tree.search_plane says how.

    tables (H, 2 A - 1, l) uint16 or int32, for H planes of a tree of arity A; counts (2, l) int32.
    """

    tables: np.ndarray
    counts: np.ndarray


class Walk(NamedTuple):
    """Who walks which queries: queries (q,) int32, those with pairs, block after block; firsts (blocks + 1,) int32,
    where each block begins; offsets (m + 1,) int32, heights (m,) int32 and weights (m,) float64 of all queries."""

    queries: np.ndarray
    firsts: np.ndarray
    offsets: np.ndarray
    heights: np.ndarray
    weights: np.ndarray


class Sums(NamedTuple):
    """above, below (l,) float64: a sum over SV_i^+ and one over SV_i^- of each document (Eq. 5)."""

    above: np.ndarray
    below: np.ndarray


class Csr(NamedTuple):
    """A sparse matrix by rows: indptr (rows + 1,), indices (nnz,) integers; values (nnz,) float32 or float64."""

    indptr: np.ndarray
    indices: np.ndarray
    values: np.ndarray
