"""Rows that break selections: ties, few distinct keys, extremes, k = 1 and k = n."""

import numpy as np

LAST = 2**32 - 1
CASES = {
    "one entry": (lambda rng: rng.integers(0, 9, (2, 1)), 1, LAST),
    "all equal": (lambda rng: np.full((2, 33), 7), 5, LAST),
    "all equal, the last key": (lambda rng: np.full((1, 33), LAST), 33, LAST),
    "few keys": (lambda rng: rng.integers(0, 3, (3, 100)), 31, LAST),
    "whole rows": (lambda rng: rng.integers(0, 2**32, (2, 65)), 65, LAST),
    "any keys": (lambda rng: rng.integers(0, 2**32, (2, 300)), 32, LAST),
    "equal high digits": (lambda rng: rng.integers(0, 2**9, (2, 300)) + 2**31, 1, LAST),
    "above the limit": (lambda rng: rng.integers(0, 2**8, (2, 70)), 40, 17),
    "limit zero": (lambda rng: rng.integers(0, 2**8, (1, 40)), 4, 0),
}


def keys(case):
    """(keys (B, n) uint32, k, limit) of a case."""
    make, k, limit = CASES[case]
    return np.asarray(make(np.random.default_rng(5)), np.uint32), k, limit
