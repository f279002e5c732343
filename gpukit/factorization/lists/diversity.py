"""Diverse lists by maximal marginal relevance (Carbonell and Goldstein 1998).

The pool has a user's best items, POOL times the length of the list. The list repeatedly takes the item i with the
largest

    (1 - diversity) r_i - diversity max_k max(0, cosine(v_i, v_k)),

k over the items taken before (none at first), r_i the item's score, scaled from the pool's lowest (0) to its highest
(1), v the items' factors. Ties are broken by the score. On the host: the pools are short.
"""

import numpy as np

from gpukit._jit import njit
from gpukit.scheduler import by_block

POOL = 5
F32 = np.float32


def pool_size(n, diversity, n_items):
    """Return the size of the pool from which n items are taken."""
    return min(n_items, n * (POOL if diversity else 1))


def directions(factors):
    """Return (N, F) float32 rows of length 1; keep zero rows."""
    lengths = np.linalg.norm(factors, axis=1, keepdims=True)
    return (factors / np.where(lengths > 0, lengths, 1)).astype(np.float32)


@njit
def _relevance(scores, out):
    """Scale scores from the lowest (0) to the highest (1); keep NaN.

    Scores are sorted, best first. Returns the number that are not NaN.
    """
    count = 0
    while count < scores.size and not np.isnan(scores[count]):
        count += 1
    for i in range(count):
        spread = scores[0] - scores[count - 1]
        out[i] = (scores[i] - scores[count - 1]) / spread if spread > 0 else F32(1)
    return count


@njit
def _likeness(vectors, one, other):
    """Return the cosine of two rows of length 1, at least 0."""
    total = F32(0)
    for f in range(vectors.shape[1]):
        total += vectors[one, f] * vectors[other, f]
    return max(total, F32(0))


@njit
def _pick(items, vectors, relevance, count, diversity, places):
    """Set places to the list's positions in one user's pool.

    -1 follows the last one.
    """
    alike, free = np.zeros(count, np.float32), np.ones(count, np.bool_)
    for turn in range(places.size):
        best, most = -1, F32(-np.inf)
        for i in range(count):
            value = (F32(1) - diversity) * relevance[i] - diversity * alike[i]
            if free[i] and value > most:
                best, most = i, value
        places[turn] = best
        if best < 0:
            continue
        free[best] = False
        for i in range(count):
            alike[i] = max(alike[i], _likeness(vectors, items[i], items[best]))


@by_block(lambda items: items.shape[0])
def spread_out(start, stop, items, scores, vectors, diversity, places):
    """Set places to the positions of the lists in each user's pool.

    items (B, C) int32 rows and scores (B, C) float32, best first, NaN after the last; vectors (N, F) float32 of length
    1; diversity float32; places (B, n) int32, overwritten, -1 where a pool is exhausted. Source: top of this file.
    """
    for line in range(start, stop):
        relevance = np.empty(items.shape[1], np.float32)
        count = _relevance(scores[line], relevance)
        _pick(items[line], vectors, relevance, count, diversity, places[line])


def diversified(items, scores, n, vectors, diversity):
    """Return the lists (items (B, n), scores (B, n)) of pools.

    items, scores: (B, C). Scores are NaN where a pool is exhausted.
    """
    places = np.empty((len(items), min(n, items.shape[1])), np.int32)
    spread_out(items, scores, vectors, np.float32(diversity), places)
    lists = [np.take_along_axis(pool, np.maximum(places, 0), axis=1) for pool in (items, scores)]
    lists[1][places < 0] = np.nan
    return lists
