"""Histories and new ratings for tests of twins and kernels, also as plain lists."""

from typing import NamedTuple

import numpy as np

from gpukit.ratings.orders.order import key_of

LEVELS = 5


class Case(NamedTuple):
    """Old and new ratings.

    shape (M, N) with the new ratings; old, new {(user, item): level}; key: Key of the order; indptr, items, codes: the
    history; keys of the new ratings, ascending.
    """

    shape: tuple
    old: dict
    new: dict
    key: object
    indptr: np.ndarray
    items: np.ndarray
    codes: np.ndarray
    keys: np.ndarray


def case(n_old, n_new, shape=(7, 9), before=(5, 6), seed=0, known=0.3):
    """Old ratings in the first rows and new ones in any.

    A share `known` of the new ones are of old pairs.
    """
    rng = np.random.default_rng([seed, n_old, n_new])
    pairs = [(i, j) for i in range(before[0]) for j in range(before[1])]
    old = {pairs[p]: int(rng.integers(LEVELS)) for p in rng.permutation(len(pairs))[:n_old]}
    free = [(i, j) for i in range(shape[0]) for j in range(shape[1]) if (i, j) not in old]
    there = sorted(old)
    n_known = min(len(there), int(known * n_new))
    chosen = [there[p] for p in rng.permutation(len(there))[:n_known]]
    chosen += [free[p] for p in rng.permutation(len(free))[: n_new - n_known]]
    new = {pair: int(rng.integers(LEVELS)) for pair in chosen}
    key = key_of(shape, LEVELS)
    indptr, items, codes = history_of(old, before[0])
    keys = np.sort(np.array([key_number(key, *pair, level) for pair, level in new.items()], np.uint64))
    return Case(shape, old, new, key, indptr, items, codes, keys)


def history_of(rated, users):
    """Return (indptr (users + 2,), items, codes) of {(user, item): level}."""
    order = sorted(rated)
    counts = np.bincount([user for user, _ in order], minlength=users + 1)
    indptr = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
    items = np.array([item for _, item in order], np.int32)
    return indptr, items, np.array([rated[pair] + 1 for pair in order], np.uint8)


def key_number(key, user, item, level):
    """Return a rating's key as an integer."""
    return user << key.user.shift | item << key.item.shift | level


def starts_of(rows, n_rows):
    """Return the first rating of each row, (n_rows + 1,) int64."""
    return np.concatenate(([0], np.cumsum(np.bincount(rows, minlength=n_rows)))).astype(np.int64)
