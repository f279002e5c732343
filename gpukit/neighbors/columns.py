"""Ratings by item, each column sorted by rating level: the form that the hashing reads.

Ratings take few distinct values: a column sorted by level is a handful of runs of equal weight, one byte a rating.
"""

from typing import NamedTuple

import numpy as np

from gpukit._jit import numba


class Columns(NamedTuple):
    """Ratings as compressed columns. Item j's ratings are the slice indptr[j]:indptr[j + 1] of the other arrays.

    indptr (N + 1,) int64, on the host; users (n,) int32 row numbers and levels (n,) uint8 into values, rising within a
    column, on the device; within one level of a column the ratings keep the order of the input. values (L,) float32, on
    the host: the distinct ratings, ascending, L <= 254.
    """

    indptr: np.ndarray
    users: np.ndarray
    levels: np.ndarray
    values: np.ndarray


def columns_of(orders):
    """The Columns of a gpukit.ratings.orders.order.Orders: its order by item."""
    return Columns(orders.by_item.indptr, orders.by_item.others, orders.by_item.codes, orders.levels.values)


def part_count():
    """How many parts work is cut into on the CPU."""
    return numba.get_num_threads()
