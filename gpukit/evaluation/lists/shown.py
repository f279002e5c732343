"""What lists show to anybody, whether it is clicked or not."""

import numpy as np

FEW = 10  # clicks that an item has been learned from: with fewer it is hardly known
NAMES = ("coverage", "gini", "popularity", "few")


def shown(slots, clicks):
    """{name: float} of slots (N,), how often each item stands in a list, and clicks (N,) that were learned from.

    coverage    share of the items that stand in any list
    gini        how unevenly slots fall to items (0: all alike, near 1: all to one)
    popularity  mean clicks of the item in a slot
    few         share of the slots whose item has fewer than FEW clicks
    """
    total = max(1, int(slots.sum()))
    return {
        "coverage": np.count_nonzero(slots) / len(slots),
        "gini": gini(slots),
        "popularity": float(slots @ clicks) / total,
        "few": float(slots[clicks < FEW].sum()) / total,
    }


def gini(counts):
    """The Gini coefficient of counts (N,) >= 0; 0 where all are 0."""
    ordered, n = np.sort(counts).astype(np.float64), len(counts)
    if not ordered.sum():
        return 0.0
    return float(2 * (np.arange(1, n + 1) @ ordered) / (n * ordered.sum()) - (n + 1) / n)
