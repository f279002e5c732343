"""Ratings for the exact search with sums at their limits."""

import numpy as np

from neighbors.inputs import ratings

SHAPES = {  # users, items, density, levels
    "two items": (9, 2, 1.0, [1, 2, 5]),
    "stars": (60, 33, 0.4, [1, 2, 3, 4, 5]),
    "half stars, sparse": (50, 70, 0.08, np.arange(1, 11) / 2),
    "one level": (20, 5, 0.9, [3]),
    "negative": (40, 9, 0.7, [-2, -1, 0, 3]),
    "uneven": (40, 9, 0.8, [0.1, 0.2, 0.7, 3.3]),
    "the finest scale": (30, 8, 0.9, [0, 1, 2, 1023]),
    "a hundred": (35, 12, 0.8, np.arange(1, 201) / 2),
}


def case(name):
    """Ratings of SHAPES; one item has none, the last has one."""
    shape = SHAPES[name]
    return ratings(*shape, seed=7, empty=[1] if shape[1] > 2 else [])
