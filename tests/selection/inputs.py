"""Difficult rows for selections: ties, few distinct keys, extremes, k = 1 and k = n."""

import numpy as np

LAST = 2**32 - 1


def misleading(n):
    """Return a row of descending keys, but for its first entries: most of the row is below a sample's bound."""
    keys = np.arange(n)[None, ::-1].copy()
    keys[0, :256] = np.arange(256) + n - 300
    return keys


def make_cases(most, long):
    """Return {name: (keys by random numbers, k, limit)} for `most` winners a turn, and long rows from `long` on."""
    return {
        "one entry": (lambda rng: rng.integers(0, 9, (2, 1)), 1, LAST),
        "all equal": (lambda rng: np.full((2, 33), 7), 5, LAST),
        "all equal, the last key": (lambda rng: np.full((1, 33), LAST), 33, LAST),
        "few keys": (lambda rng: rng.integers(0, 3, (3, 100)), 31, LAST),
        "whole rows": (lambda rng: rng.integers(0, 2**32, (2, 65)), 65, LAST),
        "any keys": (lambda rng: rng.integers(0, 2**32, (2, 300)), 32, LAST),
        "equal high digits": (lambda rng: rng.integers(0, 2**9, (2, 300)) + 2**31, 1, LAST),
        "above the limit": (lambda rng: rng.integers(0, 2**8, (2, 70)), 40, 17),
        "a full turn of winners": (lambda rng: rng.integers(0, 2**32, (1, most + 6)), most, LAST),
        "one more than a turn": (lambda rng: rng.integers(0, 2**20, (2, most + 1)), most + 1, LAST),
        "ties across turns": (lambda rng: rng.integers(0, 3, (1, 2 * most + 152)), 2 * most + 52, LAST),
        "three turns above the limit": (lambda rng: rng.integers(0, 4000, (1, 2 * most + 252)), 2 * most + 252, 1500),
        "digits of every width": (lambda rng: rng.integers(0, 2, (3, 513)) << rng.integers(0, 32, (3, 513)), 100, LAST),
        "the k-th stands last in its bin": (lambda rng: np.arange(4096 * 3)[None, ::-1], 33, LAST),
        "every digit is wanted": (lambda rng: np.full((1, 600), 2**32 - 2), 599, LAST),
        "limit zero": (lambda rng: rng.integers(0, 2**8, (1, 40)), 4, 0),
        "long rows": (lambda rng: rng.integers(0, 2**32, (2, long + 300)), 10, LAST),
        "long rows with ties": (lambda rng: rng.normal(1200, 25, (2, long + 1)), 32, 1190),
        "long rows, the sample misses the best": (lambda rng: misleading(long + 77), 33, LAST),
    }


CASES = make_cases(1024, 1 << 15)


def keys(case, cases=CASES):
    """Return (keys (B, n) uint32, k, limit) of a case."""
    make, k, limit = cases[case]
    return np.asarray(make(np.random.default_rng(5)), np.uint32), k, limit


LISTS = {  # sizes of the lists, k, number of different keys
    "lists of any length": ((0, 1, 5, 40, 3), 5, 4),
    "empty lists": ((0, 0), 3, 1),
    "one entry each": ((1, 1, 1), 1, 2**32),
    "more than all": ((9, 33), 40, 2**32),
    "ties": ((300, 65), 70, 2),
    "more than a turn": ((1100, 1024), 1030, 50),
}


def lists(case):
    """Return (begins (B + 1,) int64, sizes (B,) int32, entries (n,) uint64 in random order, k) of a case of LISTS.

    Lists have unused entries, 0, behind them.
    """
    sizes, k, n_keys = LISTS[case]
    rng, slack = np.random.default_rng(8), 3
    begins = np.append(0, np.cumsum(np.array(sizes) + slack))
    entries = np.zeros(begins[-1], np.uint64)
    for begin, size in zip(begins, sizes):
        keys, indices = rng.integers(0, n_keys, size, dtype=np.uint64), rng.permutation(3 * size + 1)[:size]
        entries[begin : begin + size] = keys << np.uint64(32) | indices.astype(np.uint64)
    return begins, np.array(sizes, np.int32), entries, k
