"""Baseline recommenders. `Popularity` is also the interface of others: `name`, `pair_scores` and `lists`."""

import numpy as np

from gpukit.scheduler import by_block

TILE = 1 << 20  # items of a tile of lists


class Popularity:
    """Recommend the most clicked items; ties by the lower row."""

    name = "popularity"

    def __init__(self, learned, n_items, known=None):
        """learned: training Clicks; known: Clicks of other users to serve."""
        self.known, self.n_items = learned if known is None else known, n_items
        self.counts = learned.of_items(n_items).astype(np.float32)
        self.order = np.argsort(-self.counts, kind="stable").astype(np.int32)  # what completes a list

    def pair_scores(self, rows, items):
        """Return scores (B, C) float32 of items (B, C) for users (B,), known clicks included."""
        return self.counts[items]

    def lists(self, rows, n):
        """Yield tiles (rows (b,), items (b, n) int32) of users, without known clicks.

        Items are -1 where none is left.
        """
        step = max(1, TILE // n)
        for first in range(0, len(rows), step):
            tile = rows[first : first + step]
            lists = self.best(tile, n)
            complete(self.known.indptr, self.known.items, tile, self.order, lists)
            yield tile, lists

    def best(self, rows, n):
        """Return the first items (b, n) int32 of lists, -1 after the last."""
        return np.full((len(rows), n), -1, np.int32)


@by_block(lambda rows: len(rows))
def complete(start, stop, indptr, items, rows, order, lists):
    """Complete lists (b, n), -1 after the last item, by the first items of `order` that are neither known nor listed.

    indptr, items: known Clicks of users; rows (b,) users.
    """
    for line in range(start, stop):
        clicked, shown, slot = items[indptr[rows[line]] : indptr[rows[line] + 1]], lists[line], 0
        while slot < shown.size and shown[slot] >= 0:
            slot += 1
        items_so_far = shown[:slot]
        for item in order:
            if slot == shown.size:
                break
            place = np.searchsorted(clicked, item)
            if (place == clicked.size or clicked[place] != item) and item not in items_so_far:
                shown[slot] = item
                slot += 1
