"""The rank of each spectral slice from its singular values, where they say so: at the largest ratio of neighbours."""

from typing import NamedTuple

import numpy as np

CLEAR = 3.0  # the least ratio of neighbouring singular values that tells a slice's rank
CLEAR_TOGETHER = 2.0  # and the least geometric mean of it over the slices that tells a common one
ALONE = 2.0  # times the next largest ratio: else the values only fall fast, and a cut anywhere would take signal away
MOST_CLEAR = 0.8  # of the slices must tell their ranks where there is no common one
DISSENT = 0.75  # power of the usual ratio: slices that tell another rank less clearly than this take the common one


class Ranks(NamedTuple):
    """ranks (K,) int32; told (K,) bool, which slices have a clear rank; clear, whether enough of them do."""

    ranks: np.ndarray
    told: np.ndarray
    clear: bool


def looked_at(smaller):
    """How many leading singular values the choice needs of slices whose smaller side is `smaller`; 0: none to make.

    The ratios grow again towards the last values of a full-rank slice, so only ranks up to half the side are
    considered.
    """
    return smaller // 2 + 1 if smaller > 1 else 0


def choose_ranks(values, rounding):
    """Ranks from the leading singular values (K, count) of each slice, falling.

    rounding: the values' relative error. Slices that are zero up to rounding get rank 0 and have no say. Where the
    slices share one rank, those that no observation determines, which hold little but the others' errors, are given
    it too.
    """
    floor = max(float(values.max()) * rounding, 1e-300)
    alive = values[:, 0] > floor
    ratios = np.maximum(values[:, :-1], floor) / np.maximum(values[:, 1:], floor)
    ranks = np.where(alive, ratios.argmax(axis=1) + 1, 0).astype(np.int32)
    told = ~alive | stands_out(ratios, CLEAR)
    common = common_rank(ratios[alive])
    if common:
        largest = ratios.max(axis=1)
        usual = np.median(largest[ranks == common]) if (ranks == common).any() else np.inf
        ranks[alive & (largest < usual**DISSENT)] = common
        told |= ranks == common
        return Ranks(ranks, told, True)
    return Ranks(ranks, told, bool(alive.any() and told[alive].mean() >= MOST_CLEAR))


def common_rank(ratios):
    """The rank that the slices agree on; 0 where there is none."""
    if not len(ratios):
        return 0
    together = np.exp(np.log(ratios).mean(axis=0, keepdims=True))
    return int(together.argmax()) + 1 if stands_out(together, CLEAR_TOGETHER)[0] else 0


def stands_out(ratios, clear):
    """(K,) bool: whether the largest of (K, count) ratios is clear, and clearly larger than the others."""
    ordered = np.sort(ratios, axis=1)
    least = clear if ratios.shape[1] == 1 else np.maximum(clear, ALONE * ordered[:, -2])
    return ordered[:, -1] >= least
