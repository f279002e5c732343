"""Evaluate recommendation lists against later clicks, next to the most clicked items.

Known clicks are never in a list, so known test clicks are left out and counted, as are those of unknown items.

**The full ranking** (`judge`). A user has R relevant items. Of the first k of the list, h are relevant, at ranks
r_1 < r_2 < ...

    hr         1 if h > 0
    recall     h / R
    precision  h / k
    ndcg       sum over hits of 1 / log2(r + 1), by the sum over r = 1 ... min(k, R)   [Jarvelin, Kekalainen 2002]
    map        sum over hits of (hits up to r) / r, by min(k, R)
    mrr        1 / r_1, or 0
"""

from typing import NamedTuple

import numpy as np

from gpukit.base import check_integer
from gpukit.errors import DataError, ParameterError
from gpukit.primitives.search import lower_bound
from gpukit.scheduler import by_block

NAMES = ("hr", "recall", "precision", "ndcg", "map", "mrr")
FEW = 10  # training clicks; items with fewer are rare
TILE = 1 << 20  # items of a tile of lists


class Clicks(NamedTuple):
    """Items that users clicked: user u's are items[indptr[u]:indptr[u + 1]].

    They ascend without repetition. indptr (M + 1,) int64, items (n,) int32.
    """

    indptr: np.ndarray
    items: np.ndarray

    def counts(self):
        """Return the number of clicks of each user, (M,) int64."""
        return np.diff(self.indptr)

    def of_items(self, n_items):
        """Return the number of clicks on each item, (n_items,) int64."""
        return np.bincount(self.items, minlength=n_items)


class LeftOut(NamedTuple):
    """Counts of test pairs that cannot be evaluated.

    pairs: all; unknown_users; unknown_items: of known users; known: from training; repeated.
    """

    pairs: int
    unknown_users: int
    unknown_items: int
    known: int
    repeated: int


def clicks_of(users, items, shape):
    """Return Clicks of pairs of rows (n,) in any order, without repetitions.

    shape: (M, N).
    """
    keys = np.unique(np.asarray(users, np.int64) * shape[1] + items)
    rows, columns = np.divmod(keys, max(1, shape[1]))
    starts = np.append(0, np.cumsum(np.bincount(rows, minlength=shape[0])))
    return Clicks(starts.astype(np.int64), columns.astype(np.int32))


def clicks_in_rows(indptr, items):
    """Return Clicks of items grouped by row; unsorted rows are sorted."""
    rows = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    if ((items[1:] > items[:-1]) | (rows[1:] > rows[:-1])).all():
        return Clicks(np.asarray(indptr, np.int64), np.asarray(items, np.int32))
    return clicks_of(rows, items, (len(indptr) - 1, int(items.max()) + 1))


def click_mask(clicks, rows, items):
    """Return a mask (B, n) of items that are clicks of the users.

    items (B, n), -1 for none; rows (B,) users.
    """
    out = np.empty(items.shape, np.bool_)
    _find(clicks.indptr, clicks.items, np.asarray(rows, np.int64), np.asarray(items, np.int32), out)
    return out


@by_block(lambda rows: len(rows))
def _find(start, stop, indptr, clicked, rows, items, out):
    for k in range(stop - start):
        line = start + k
        user_clicks = clicked[indptr[rows[line]] : indptr[rows[line] + 1]]
        for place in range(items.shape[1]):
            position = lower_bound(user_clicks, items[line, place], 0, len(user_clicks))
            out[line, place] = position < len(user_clicks) and user_clicks[position] == items[line, place]


def select_judged_pairs(users, items, known, n_items):
    """Return (mask (n,) of test pairs that can be evaluated, LeftOut).

    users, items: rows (n,); unknown ids are negative or beyond the last row.
    """
    n_users = len(known.indptr) - 1
    no_user = (users < 0) | (users >= n_users)
    no_item = ~no_user & ((items < 0) | (items >= n_items))
    is_known = ~(no_user | no_item)
    seen = np.zeros(len(users), np.bool_)
    seen[is_known] = click_mask(known, users[is_known], items[is_known, None])[:, 0]
    new = np.flatnonzero(is_known & ~seen)
    first = np.zeros(len(users), np.bool_)
    first[new[np.unique(users[new].astype(np.int64) * n_items + items[new], return_index=True)[1]]] = True
    counts = (int(np.count_nonzero(mask)) for mask in (no_user, no_item, seen, is_known & ~seen & ~first))
    return first, LeftOut(len(users), *counts)


def discounts(k):
    """Return cumulative discounts (k + 1,) float64.

    Entry j is the sum of the first j terms 1 / log2(rank + 1).
    """
    return np.concatenate(([0.0], np.cumsum(1 / np.log2(np.arange(2, k + 2)))))


def metrics_of_hits(hits, relevant, k):
    """Return {metric: (B,) float64} of users.

    hits (B, n >= k) bool, in list order; relevant (B,): R of each user; values are 0 where R is 0.
    """
    hits, ranks = hits[:, :k], np.arange(1, k + 1)
    n_hits, sizes = hits.sum(axis=1), np.maximum(1, relevant)
    ideal, sums = np.minimum(sizes, k), discounts(k)
    return {
        "hr": (n_hits > 0).astype(np.float64),
        "recall": n_hits / sizes,
        "precision": n_hits / k,
        "ndcg": hits @ np.diff(sums) / sums[ideal],
        "map": (hits * (np.cumsum(hits, axis=1) / ranks)).sum(axis=1) / ideal,
        "mrr": np.where(n_hits > 0, 1 / (1.0 + np.argmax(hits, axis=1)), 0.0),
    }


def list_properties(slots, clicks):
    """Return {name: float} of slots (N,) and training clicks (N,) of items.

    slots: number of lists that contain each item.

    coverage    fraction of the items that are in any list
    gini        inequality of slots over items (0: equal, near 1: all in one item)
    popularity  mean clicks of the item in a slot
    few         fraction of the slots whose item has fewer than FEW clicks
    """
    total = max(1, int(slots.sum()))
    return {
        "coverage": np.count_nonzero(slots) / len(slots),
        "gini": gini(slots),
        "popularity": float(slots @ clicks) / total,
        "few": float(slots[clicks < FEW].sum()) / total,
    }


def gini(counts):
    """Return the Gini coefficient of counts; 0 for all zeros."""
    ordered, n = np.sort(counts).astype(np.float64), len(counts)
    if not ordered.sum():
        return 0.0
    return float(2 * (np.arange(1, n + 1) @ ordered) / (n * ordered.sum()) - (n + 1) / n)


class Judged(NamedTuple):
    """Metrics of a predictor's lists.

    values {k: {metric: (users,) float64}}; facts {k: {name: float}}: properties of the lists (shown.py).
    """

    predictor: str
    values: dict
    facts: dict

    def row(self, k):
        """Return {predictor, mean of each metric over users, facts} at k."""
        means = {name: float(np.mean(values)) for name, values in self.values[k].items()}
        return {"predictor": self.predictor, **means, **self.facts[k]}


def check_cuts(k, most):
    """Return list lengths, one or several, as an ascending tuple.

    Raises ParameterError for none, or for one above `most`, the number of items.
    """
    cuts = sorted({check_integer("k", cut, 1) for cut in np.atleast_1d(np.asarray(k, object))})
    if not cuts or cuts[-1] > most:
        why = f"the model knows {most:,} items, so take k from 1 to {most:,}"
        raise ParameterError(f"k={cuts[-1] if cuts else k!r} is no length of a list; {why}.")
    return tuple(cuts)


def judge(predictor, tiles, relevant, clicks, cuts):
    """Evaluate lists and return Judged.

    tiles: an iterable of (user rows (b,), item rows (b, n) best first, -1 for none), n at least the last cut; relevant:
    test Clicks, rows as in tiles; clicks (N,): training clicks on each item; cuts: from check_cuts. Users are in the
    order of the tiles. Raises DataError without users.
    """
    values = {k: {name: [] for name in NAMES} for k in cuts}
    slots = np.zeros((len(cuts), len(clicks) + 1), np.int64)
    sizes = relevant.counts()
    for rows, items in tiles:
        hits = click_mask(relevant, rows, items)
        for place, k in enumerate(cuts):
            slots[place] += np.bincount(items[:, :k].ravel() + 1, minlength=slots.shape[1])
            for name, column in metrics_of_hits(hits, sizes[rows], k).items():
                values[k][name].append(column)
    if not values[cuts[0]]["hr"]:
        raise DataError("There are no users to judge lists by.")
    results = {k: {name: np.concatenate(parts) for name, parts in by.items()} for k, by in values.items()}
    return Judged(predictor, results, {k: list_properties(slots[place, 1:], clicks) for place, k in enumerate(cuts)})


class Popularity:
    """Recommend the most clicked items; ties by the lower row."""

    name = "popularity"

    def __init__(self, learned, n_items, known=None):
        """learned: training Clicks; known: Clicks of other users to serve."""
        self.known, self.n_items = learned if known is None else known, n_items
        self.counts = learned.of_items(n_items).astype(np.float32)
        self.order = np.argsort(-self.counts, kind="stable").astype(np.int32)  # what completes a list

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
            place = lower_bound(clicked, item, 0, clicked.size)
            if (place == clicked.size or clicked[place] != item) and item not in items_so_far:
                shown[slot] = item
                slot += 1
