"""Properties of lists that do not depend on test clicks."""

import numpy as np

FEW = 10  # training clicks; items with fewer are rare
NAMES = ("coverage", "gini", "popularity", "few")


def shown(slots, clicks):
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
