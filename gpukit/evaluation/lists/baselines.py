"""Baseline recommenders: popularity and item kNN.

Both have `name`, `scores(rows)`, (B, N) float32 of all items for users, and `lists(rows, n)`.
"""

import numpy as np

from gpukit.scheduler import by_block
from gpukit.selection import twins as selection
from gpukit.selection.formulas import LAST, descending_key

NEIGHBORS, SHRINKAGE = 50, 10.0
TILE_BYTES = 32 << 20  # of scores per tile
PRODUCTS = 4_000_000_000  # maximum pairs of clicks of one user for similarities


class Popularity:
    """Recommend the most clicked items; ties by the lower row."""

    name = "popularity"

    def __init__(self, learned, n_items, known=None):
        """learned: training Clicks; known: Clicks of other users to serve."""
        self.known, self.n_items = learned if known is None else known, n_items
        self.counts = learned.of_items(n_items).astype(np.float32)

    def scores(self, rows):
        """Return scores (B, N) float32, known clicks included."""
        return np.broadcast_to(self.counts, (len(rows), self.n_items))

    def lists(self, rows, n):
        """Yield tiles (rows (b,), items (b, n) int32) of users, without known clicks.

        Items are -1 where none is left.
        """
        step = max(1, TILE_BYTES // (8 * self.n_items))
        for first in range(0, len(rows), step):
            tile = rows[first : first + step]
            keys = np.empty((len(tile), self.n_items), np.uint32)
            _fill(self.known.indptr, self.known.items, tile, self.scores(tile), keys)
            items, best = selection.smallest(keys, n)
            yield tile, np.where(best == LAST, np.int32(-1), items)


@by_block(lambda rows: len(rows))
def _fill(start, stop, indptr, items, rows, scores, keys):
    """Fill sort keys (B, N) uint32: the best score first, known clicks last."""
    for line in range(start, stop):
        for item in range(keys.shape[1]):
            keys[line, item] = descending_key(scores[line, item])
        for at in range(indptr[rows[line]], indptr[rows[line] + 1]):
            keys[line, items[at]] = LAST


class ItemKNN(Popularity):
    """Recommend the items most similar to those that the user clicked.

    The score is the sum over the user's clicks of cosine(i, j) = c_ij / (sqrt(c_i c_j) + SHRINKAGE), over the NEIGHBORS
    most similar j of an item i; c_ij users clicked both, c_i one. If this needs more than PRODUCTS pairs, a random
    fraction `share` of the users is used.
    """

    name = "item kNN"

    def __init__(self, learned, n_items, known=None, seed=0):
        super().__init__(learned, n_items, known)
        counts = learned.counts().astype(np.float64)
        self.share = min(1.0, PRODUCTS / max(1.0, float(counts @ counts)))
        users = np.random.default_rng(seed).random(len(counts)) < self.share
        self.weights = similarities(table(learned, n_items)[np.flatnonzero(users)])
        self.clicks = table(self.known, n_items)

    def scores(self, rows):
        """Return scores (B, N) float32, known clicks included."""
        return (self.clicks[rows] @ self.weights).toarray()


def table(clicks, n_items):
    """Return Clicks as a scipy matrix (M, N) of float32 ones."""
    from scipy import sparse

    ones = np.ones(len(clicks.items), np.float32)
    return sparse.csr_matrix((ones, clicks.items, clicks.indptr), (len(clicks.indptr) - 1, n_items), copy=False)


def similarities(clicks):
    """Return a scipy matrix (N, N) of similarities.

    Column i has the similarities of item i's neighbours. clicks: a matrix (M, N) of ones.
    """
    from scipy import sparse

    columns, n_items = clicks.T.tocsr(), clicks.shape[1]
    counts, kept = np.asarray(clicks.sum(axis=0), np.float32).ravel(), min(NEIGHBORS, n_items)
    step, parts = max(1, TILE_BYTES // (4 * n_items)), []
    for first in range(0, n_items, step):
        block = (columns[first : first + step] @ clicks).toarray()
        own = np.arange(first, first + len(block))
        block /= np.sqrt(np.outer(counts[own], counts)) + np.float32(SHRINKAGE)
        block[own - first, own] = 0
        nearest = np.argpartition(-block, kept - 1, axis=1)[:, :kept]
        rows = np.repeat(own, kept)
        parts.append((np.take_along_axis(block, nearest, axis=1).ravel(), nearest.ravel(), rows))
    values, neighbors, own = (np.concatenate(part) for part in zip(*parts))
    there = values > 0
    return sparse.csr_matrix((values[there], (neighbors[there], own[there])), (n_items, n_items))
