"""Ratings for tests over ranks."""

import functools

import numpy as np

from gpukit.factorization.model.layout import EXTRA, gpu_rows
from gpukit.ratings import Ratings, synth_ratings


@functools.cache
def generated(scale=0.02):
    """Return (train, test) of 200,000 generated ratings.

    Another share of ten million is possible.
    """
    return synth_ratings("ml-10m", scale, 3).split(0.1, 0)


def ratings(values=None, shape=(60, 31), n=700):
    """Return a small Ratings; values(n): the ratings, else 1 to 5."""
    rng = np.random.default_rng(5)
    pairs = rng.choice(shape[0] * shape[1], n, replace=False)
    given = rng.integers(1, 6, n) if values is None else values(n)
    sides = (pairs // shape[1]).astype(np.int32), (pairs % shape[1]).astype(np.int32)
    return Ratings(*sides, given.astype(np.float32), *map(np.arange, shape))


def of_halves(numbers):
    """Return (rows, F / 2) float32 with the bytes of numbers (rows, F) as float16."""
    return np.ascontiguousarray(numbers, np.float16).view(np.float32)


def table_of(rows, factors, half, seed=0):
    """Return (parameter rows, the same numbers as float32 factors and extras).

    The numbers are eighths, which float16 stores exactly; rows are aligned as in model.layout.
    """
    rng = np.random.default_rng(seed)
    numbers, extras = (rng.integers(-64, 64, (rows, n)).astype(np.float32) / 8 for n in (factors, EXTRA))
    stored = of_halves(numbers) if half else numbers
    between = np.zeros((rows, gpu_rows(factors, factors, half).stride - stored.shape[1] - EXTRA), np.float32)
    return np.hstack((stored, between, extras)), np.hstack((numbers, extras))
