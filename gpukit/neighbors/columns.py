"""Ratings by item, each column sorted by rating level, for the hashing.

Ratings have few distinct values: a column sorted by level is a few runs of equal weight, one byte per rating.
"""

from typing import NamedTuple

import numpy as np


class Columns(NamedTuple):
    """Ratings as compressed columns. Item j's ratings are the slice indptr[j]:indptr[j + 1] of the other arrays.

    indptr (N + 1,) int64, on the host; users (n,) int32 row numbers and levels (n,) uint8 into values, ascending within
    a column, on the device; within one level of a column the ratings keep the order of the input. values (L,) float32,
    on the host: the distinct ratings, ascending, L <= 254. by_user: the same ratings by user, items ascending
    (gpukit.ratings.orders.order.Order), which hashes do not need.
    """

    indptr: np.ndarray
    users: np.ndarray
    levels: np.ndarray
    values: np.ndarray
    by_user: object = None


def columns_of(orders):
    """Return the Columns of a gpukit.ratings.orders.order.Orders: its order by item."""
    by_item = orders.by_item
    return Columns(by_item.indptr, by_item.others, by_item.codes, orders.levels.values, orders.by_user)


def whole_multiples(values):
    """Return levels times the least power of two up to 2**8 that makes them whole, float64; None if there is none."""
    exact_scales = 9  # ratings that are multiples of 2**-8 are exact
    values = np.asarray(values, np.float64)
    for scale in range(exact_scales):
        whole = values * 2.0**scale
        if (whole == np.rint(whole)).all():
            return whole
    return None
