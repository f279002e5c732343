"""Normal variates from counter-based random bits: equal on every machine and in every order."""

from statistics import NormalDist

import numpy as np

from gpukit import random
from gpukit._jit import njit
from gpukit.scheduler import by_block

HALF = np.float32(2.0**16)
SPREAD = np.float32(np.sqrt(3.0) * 2.0**-16)  # four 16-bit uniforms have the variance 4 * 2**32 / 12


@njit(fastmath=False)
def normal(key, index):
    """Return a float32 of mean 0, variance 1 and size below 3.5: the sum of four 16-bit uniforms (Irwin-Hall)."""
    first, second = random.bits(key, 2 * index), random.bits(key, 2 * index + 1)
    total = np.int64(first & np.uint32(0xFFFF)) + np.int64(first >> np.uint32(16))
    total += np.int64(second & np.uint32(0xFFFF)) + np.int64(second >> np.uint32(16))
    return np.float32((np.float32(total) - np.float32(2.0) * HALF) * SPREAD)


def normals(key, shape):
    """Return an array (rows, columns) float32 of normal variates."""
    out = np.empty(shape, dtype=np.float32)
    _fill(key, out)
    return out


@by_block(lambda out: len(out), fastmath=False)
def _fill(start, stop, key, out):
    for k in range(stop - start):
        row = start + k
        for column in range(out.shape[1]):
            out[row, column] = normal(key, np.int64(row) * out.shape[1] + column)


@njit
def bits(key, count):
    """Return random.bits(key, 0..count-1), (count,) uint32."""
    out = np.empty(count, dtype=np.uint32)
    for index in range(count):
        out[index] = random.bits(key, index)
    return out


def shuffled_normals(key, count):
    """Return the quantiles of the normal distribution in random order, (count,) float64."""
    inverse = NormalDist().inv_cdf
    quantiles = np.array([inverse((rank + 0.5) / count) for rank in range(count)])
    return quantiles[np.argsort(bits(key, count), kind="stable")]


def factor_of_total(counts, total, most):
    """Return the largest factor up to `most`, by bisection, with counts(factor).sum() < total; counts rise with it."""
    low, high = 0.0, most
    for _ in range(80):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if counts(middle).sum() < total else (low, middle)
    return low
