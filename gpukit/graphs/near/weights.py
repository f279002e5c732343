"""Distances into weights, and graphs of the nearest."""

import numpy as np

from gpukit.base import check_integer

NEAREST = 8
SMALLEST = 1e-3  # weight, so that the remote have neighbours too


def gaussian(distances, scale):
    """exp(-(d / scale)^2), SMALLEST at least; 1 where the scale is 0."""
    if not scale > 0:
        return np.ones(len(distances))
    return np.maximum(np.exp(-np.square(distances / scale)), SMALLEST)


def near_one(numbers):
    """Return numbers times a power of two, the largest from 1/2 to 1: their squares are float64."""
    return np.ldexp(numbers, -int(np.frexp(np.abs(numbers).max(initial=0.0))[1]))


def joined(rows, columns, weights, count):
    """csr (count, count) float64, symmetric: a pair that is named in both directions has the larger weight."""
    from scipy import sparse

    places = np.asarray(rows, np.int32), np.asarray(columns, np.int32)
    one = sparse.csr_array((weights, places), shape=(count, count))
    return one.maximum(one.T).tocsr()


def how_many(neighbors, count):
    """The number of neighbours asked for (None: NEAREST), of count - 1 others at most; ParameterError for none."""
    asked = NEAREST if neighbors is None else check_integer("neighbors", neighbors, 1)
    return min(asked, count - 1)
