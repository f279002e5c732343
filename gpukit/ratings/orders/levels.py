"""Levels of rating values: distinct ones or a uniform grid."""

from typing import NamedTuple

import numpy as np

from gpukit.ratings.orders.formulas import FREE

MOST = 254  # levels: a code of one byte has 0 for "not rated" and 255 for "nobody"


class Levels(NamedTuple):
    """Rating levels and their counts.

    values (L,) float32, ascending; exact: every rating is one of them, else ratings map to the nearest level; counts
    (L,) int64: ratings on each level.
    """

    values: np.ndarray
    exact: bool
    counts: np.ndarray


def ranked(table):
    """Return (values (L,) float32 ascending, ranks (2048,) uint8 of the slots).

    table (2048,) uint32: bits of the values.
    """
    used = np.flatnonzero(table != FREE)
    values = table[used].view(np.float32)
    order = np.argsort(values, kind="stable")
    ranks = np.zeros(len(table), np.uint8)
    ranks[used[order]] = np.arange(len(used), dtype=np.uint8)
    return values[order], ranks


def grid(low, high):
    """Return (values (MOST,) float32, levels per unit) of a uniform grid."""
    return np.linspace(low, high, MOST).astype(np.float32), (MOST - 1) / (float(high) - float(low))


def moments(levels):
    """Return (mean, standard deviation), float64, of ratings on exact levels."""
    share = levels.counts / max(int(levels.counts.sum()), 1)
    values = levels.values.astype(np.float64)
    mean = float(share @ values)
    return mean, float(np.sqrt(share @ (values - mean) ** 2))
