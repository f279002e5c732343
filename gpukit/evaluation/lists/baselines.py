"""Popularity and item kNN, what anybody can have in a line: a report that names a winner has them beside it.

Both have `name`, `scores(rows)`, (B, N) float32 of all items for users, and `lists(rows, n)`.
"""

import numpy as np

from gpukit.scheduler import by_block
from gpukit.selection import cpu as selection
from gpukit.selection.formulas import LAST, descending_key

NEIGHBORS, SHRINKAGE = 50, 10.0
TILE_BYTES = 32 << 20  # of scores at once
PRODUCTS = 4_000_000_000  # pairs of clicks of one user that similarities are made of, at most


class Popularity:
    """Every user is shown what most others clicked; ties by the lower row."""

    name = "popularity"

    def __init__(self, learned, n_items, known=None):
        """learned: the Clicks to learn from; known: those of the users who get lists, if they are others."""
        self.known, self.n_items = learned if known is None else known, n_items
        self.counts = learned.of_items(n_items).astype(np.float32)

    def scores(self, rows):
        """(B, N) float32, known clicks too."""
        return np.broadcast_to(self.counts, (len(rows), self.n_items))

    def lists(self, rows, n):
        """Yield tiles (rows (b,), items (b, n) int32, -1 where none is left) of users, known clicks left out."""
        step = max(1, TILE_BYTES // (8 * self.n_items))
        for first in range(0, len(rows), step):
            tile = rows[first : first + step]
            keys = np.empty((len(tile), self.n_items), np.uint32)
            _fill(self.known.indptr, self.known.items, tile, self.scores(tile), keys)
            items, best = selection.smallest(keys, n)
            yield tile, np.where(best == LAST, np.int32(-1), items)


@by_block(lambda rows: len(rows))
def _fill(start, stop, indptr, items, rows, scores, keys):
    """keys (B, N) uint32: the best score first, known clicks last."""
    for line in range(start, stop):
        for item in range(keys.shape[1]):
            keys[line, item] = descending_key(scores[line, item])
        for at in range(indptr[rows[line]], indptr[rows[line] + 1]):
            keys[line, items[at]] = LAST


class ItemKNN(Popularity):
    """The items most like those that the user clicked: the sum over these of cosine(i, j) = c_ij / (sqrt(c_i c_j) +
    SHRINKAGE), over the NEIGHBORS most similar j of an item i; c_ij users clicked both, c_i one.

    Where users have so many clicks that more than PRODUCTS pairs would be counted, a random part of the users is
    (`share` of them).
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
        """(B, N) float32, known clicks too."""
        return (self.clicks[rows] @ self.weights).toarray()


def table(clicks, n_items):
    """Clicks as a scipy matrix (M, N) of float32 ones."""
    from scipy import sparse

    ones = np.ones(len(clicks.items), np.float32)
    return sparse.csr_matrix((ones, clicks.items, clicks.indptr), (len(clicks.indptr) - 1, n_items), copy=False)


def similarities(clicks):
    """A scipy matrix (N, N): column i has the similarities of item i's neighbours. clicks: a matrix (M, N) of ones."""
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
