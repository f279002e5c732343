"""Metrics of lists at a cut-off, one float64 per user.

A user has R relevant items. Of the first k of the list, h are relevant, at ranks r_1 < r_2 < ...

    hr         1 if h > 0
    recall     h / R
    precision  h / k
    ndcg       sum over hits of 1 / log2(r + 1), by the sum over r = 1 ... min(k, R)   [Jarvelin, Kekalainen 2002]
    map        sum over hits of (hits up to r) / r, by min(k, R)
    mrr        1 / r_1, or 0
"""

import numpy as np

NAMES = ("hr", "recall", "precision", "ndcg", "map", "mrr")
FEW = 10  # training clicks; items with fewer are rare


def discounts(k):
    """Return cumulative discounts (k + 1,) float64.

    Entry j is the sum of the first j terms 1 / log2(rank + 1).
    """
    return np.concatenate(([0.0], np.cumsum(1 / np.log2(np.arange(2, k + 2)))))


def measured(hits, relevant, k):
    """Return {metric: (B,) float64} of users.

    hits (B, n >= k) bool, in list order; relevant (B,): R of each user; values are 0 where R is 0.
    """
    hits, ranks = hits[:, :k], np.arange(1, k + 1)
    found, sizes = hits.sum(axis=1), np.maximum(1, relevant)
    ideal, sums = np.minimum(sizes, k), discounts(k)
    return {
        "hr": (found > 0).astype(np.float64),
        "recall": found / sizes,
        "precision": found / k,
        "ndcg": hits @ np.diff(sums) / sums[ideal],
        "map": (hits * (np.cumsum(hits, axis=1) / ranks)).sum(axis=1) / ideal,
        "mrr": np.where(found > 0, 1 / (1.0 + np.argmax(hits, axis=1)), 0.0),
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
