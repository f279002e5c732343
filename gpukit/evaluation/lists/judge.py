"""Evaluate a predictor's lists over the full ranking.

A user has R relevant items. Of the first k of the list, h are relevant, at ranks r_1 < r_2 < ...

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
from gpukit.evaluation.lists.clicks import click_mask

NAMES = ("hr", "recall", "precision", "ndcg", "map", "mrr")
FEW = 10  # training clicks; items with fewer are rare


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
        return {"predictor": self.predictor, **means, **self.facts.get(k, {})}


def check_cuts(k, most, reason="the model knows {:,} items"):
    """Return list lengths, one or several, as an ascending tuple.

    Raises ParameterError for none, or for one above `most`; reason: format of the reason in the message.
    """
    cuts = sorted({check_integer("k", cut, 1) for cut in np.atleast_1d(np.asarray(k, object))})
    if not cuts or cuts[-1] > most:
        why = f"{reason.format(most)}, so take k from 1 to {most:,}"
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
