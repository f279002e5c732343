"""Rank of each spectral slice, if it is clear.

It is at the largest ratio of adjacent singular values.
"""

from typing import NamedTuple

import numpy as np

from gpukit.imputation.constants import CLEAR_RATIO, CLEAR_SHARE, DISSENT, DISTINCT_RATIO


class Ranks(NamedTuple):
    """ranks (K,) int32; is_clear (K,) bool: slices with a clear rank; clear: True if enough slices have one."""

    ranks: np.ndarray
    is_clear: np.ndarray
    clear: bool


def count_leading(smaller):
    """Return the number of leading singular values that determine a rank; 0 for slices with one value.

    The ratios grow again towards the last values of a full-rank slice, so only ranks up to half the side are
    considered.
    """
    return smaller // 2 + 1 if smaller > 1 else 0


def choose_ranks(values, rounding):
    """Return Ranks from leading singular values (K, count), descending.

    rounding: the values' relative error. Slices that are zero up to rounding get rank 0 and are ignored. If the slices
    share one rank, slices without observations, which contain mostly errors of others, get it too.
    """
    floor = max(float(values.max()) * rounding, 1e-300)
    alive = values[:, 0] > floor
    ratios = np.maximum(values[:, :-1], floor) / np.maximum(values[:, 1:], floor)
    ranks = np.where(alive, ratios.argmax(axis=1) + 1, 0).astype(np.int32)
    is_clear = ~alive | stands_out(ratios, CLEAR_RATIO)
    common = common_rank(ratios[alive])
    if common:
        largest = ratios.max(axis=1)
        usual = np.median(largest[ranks == common]) if (ranks == common).any() else np.inf
        ranks[alive & (largest < usual**DISSENT)] = common
        is_clear |= ranks == common
        return Ranks(ranks, is_clear, True)
    return Ranks(ranks, is_clear, bool(alive.any() and is_clear[alive].mean() >= CLEAR_SHARE))


def common_rank(ratios):
    """Return the common rank of the slices; 0 if there is none."""
    if not len(ratios):
        return 0
    together = np.exp(np.log(ratios).mean(axis=0, keepdims=True))
    return int(together.argmax()) + 1 if stands_out(together, DISTINCT_RATIO)[0] else 0


def stands_out(ratios, clear):
    """Return (K,) bool: True if the largest of (K, count) ratios is clear and clearly larger than the others."""
    ordered = np.sort(ratios, axis=1)
    least = clear if ratios.shape[1] == 1 else np.maximum(clear, DISTINCT_RATIO * ordered[:, -2])
    return ordered[:, -1] >= least
