"""Diverse lists by maximal marginal relevance (Carbonell and Goldstein 1998).

The pool has a user's best items, diversity_pool times the length of the list. The list repeatedly takes the item i with
the largest

    (1 - diversity) r_i - diversity max_k max(0, cosine(v_i, v_k)),

k over the items taken before (none at first), r_i the item's score, scaled from the pool's lowest (0) to its highest
(1), v the items' factors. Ties are broken by the score. On the host: the pools are short.
"""

import numpy as np

from gpukit.factorization.arrays import NUMBERS
from gpukit.factorization.constants import RULES


def pool_size(n, diversity, n_items):
    """Return the size of the pool from which n items are taken."""
    return min(n_items, n * (RULES.diversity_pool if diversity else 1))


def directions(factors):
    """Return (N, F) float32 rows of length 1; keep zero rows."""
    lengths = np.linalg.norm(factors, axis=1, keepdims=True)
    return (factors / np.where(lengths > 0, lengths, 1)).astype(np.float32)


def spread_out(items, scores, n, vectors, diversity):
    """Return the positions (B, n) of the lists in each user's pool, -1 where a pool is exhausted.

    items (B, C) int32 rows and scores (B, C) float32, best first, NaN after the last; vectors (N, F) float32 of length
    1; diversity float32. Source: top of this file.
    """
    users, lowest = np.arange(len(items)), np.fmin.reduce(scores, axis=1, keepdims=True)
    spread, relevance = scores[:, :1] - lowest, np.ones_like(scores)
    np.divide(scores - lowest, spread, out=relevance, where=spread > 0)
    pool, free, similarity = vectors[items], ~np.isnan(scores), np.zeros_like(scores)
    places = np.empty((len(items), n), np.int32)
    for turn in range(n):
        values = np.where(free, (1 - diversity) * relevance - diversity * similarity, -np.inf)
        best = values.argmax(axis=1)
        places[:, turn] = np.where(free[users, best], best, -1)
        free[users, best] = False
        similarity = np.maximum(similarity, np.einsum("bcf,bf->bc", pool, pool[users, best]))
    return places


def diversify(items, scores, n, vectors, diversity):
    """Return the lists (items (B, n), scores (B, n)) of pools.

    items, scores: (B, C). Scores are NaN where a pool is exhausted.
    """
    n, step = min(n, items.shape[1]), max(1, NUMBERS // (items.shape[1] * vectors.shape[1]))
    tiles = [slice(first, first + step) for first in range(0, len(items), step)]
    chosen = [spread_out(items[tile], scores[tile], n, vectors, np.float32(diversity)) for tile in tiles]
    places = np.concatenate([np.empty((0, n), np.int32), *chosen])
    lists = [np.take_along_axis(pool, np.maximum(places, 0), axis=1) for pool in (items, scores)]
    lists[1][places < 0] = np.nan
    return lists
