"""Which values ratings take: up to MOST of them one by one, else the nearest of an even grid."""

from typing import NamedTuple

import numpy as np

from gpukit.ratings.orders.formulas import FREE

MOST = 254  # levels: a code of one byte has 0 for "not rated" and 255 for "nobody"


class Levels(NamedTuple):
    """values (L,) float32, ascending; exact: every rating is one of them, else each stands for the ratings nearest to
    it; counts (L,) int64 ratings of each."""

    values: np.ndarray
    exact: bool
    counts: np.ndarray


def ranked(table):
    """(values (L,) float32 ascending, ranks (2048,) uint8 of the slots) of a table (2048,) uint32 of values' bits."""
    used = np.flatnonzero(table != FREE)
    values = table[used].view(np.float32)
    order = np.argsort(values, kind="stable")
    ranks = np.zeros(len(table), np.uint8)
    ranks[used[order]] = np.arange(len(used), dtype=np.uint8)
    return values[order], ranks


def grid(low, high):
    """(values (MOST,) float32, levels a unit): an even grid from the lowest rating to the highest."""
    return np.linspace(low, high, MOST).astype(np.float32), (MOST - 1) / (float(high) - float(low))


def moments(levels):
    """(mean, standard deviation) of ratings that are exactly on their levels, float64."""
    share = levels.counts / max(int(levels.counts.sum()), 1)
    values = levels.values.astype(np.float64)
    mean = float(share @ values)
    return mean, float(np.sqrt(share @ (values - mean) ** 2))
