"""Inputs of the tests of item weights."""

import numpy as np


def regressions(shape, slots, seed=0):
    """Return (X dense, neighbors (N, slots), starts, users).

    The last user and the last item have no clicks. Lists vary in length, the first is full.
    """
    rng = np.random.default_rng([seed, *shape, slots])
    X = rng.random(shape) < 0.35
    X[-1:, 1:], X[:, -1] = False, False
    neighbors = np.full((shape[1], slots), -1, np.int32)
    for item in range(shape[1]):
        others = rng.permutation(np.delete(np.arange(shape[1]), item))[: rng.integers(0, slots + 1) if item else slots]
        neighbors[item, : len(others)] = others
    starts = np.append(0, np.cumsum(X.sum(axis=0))).astype(np.int64)
    return X.astype(float), neighbors, starts, np.nonzero(X.T)[1].astype(np.int32)
