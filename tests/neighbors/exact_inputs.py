"""Ratings for the exact search with sums at their limits."""

import numpy as np

from gpukit.ratings import Ratings
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


CLICKS = {  # clicked (users, items) of generators
    "one user": lambda rng: np.ones((1, 5), bool),
    "one click": lambda rng: np.eye(1, 3, dtype=bool),
    "two items": lambda rng: rng.random((9, 2)) < 0.8,
    "one item": lambda rng: np.ones((4, 1), bool),
    "few meet": lambda rng: rng.random((90, 70)) < 0.02,
    "some meet few": lambda rng: rng.random((60, 200)) < rng.random(200) ** 4,
    "equal columns": lambda rng: np.repeat(rng.random((30, 9)) < 0.3, 8, axis=1),
    "everybody's": lambda rng: (rng.random((300, 40)) < 0.05) | (np.arange(40) == 3),
    "no clicks on some": lambda rng: (rng.random((40, 65)) < 0.2) & (np.arange(65) % 3 > 0),
    "no clicks by some": lambda rng: (rng.random((50, 33)) < 0.3) & (np.arange(50)[:, None] % 4 > 0),
    "everything": lambda rng: np.ones((20, 66), bool),
}


def clicked(name):
    """Return the clicks (M, N) bool of CLICKS."""
    return CLICKS[name](np.random.default_rng(3))


def clicks(name):
    """Return the clicks of CLICKS as Ratings in random order."""
    users, items = np.nonzero(clicked(name))
    order = np.random.default_rng(1).permutation(len(users))
    users, items = users[order].astype(np.int32), items[order].astype(np.int32)
    ones = np.ones(len(users), np.float32)
    return Ratings(users, items, ones, *(np.arange(size) for size in clicked(name).shape))
