"""The rank of each spectral slice from its singular values, where they say so: at the largest ratio of neighbours."""

from typing import NamedTuple

import numpy as np

CLEAR = 3.0  # the least ratio of neighbouring singular values that tells a rank
MOST_CLEAR = 0.8  # of the slices must tell theirs
AGREE = 0.9  # of those that tell a rank: if so many tell the same, all the others are taken to have it too


class Ranks(NamedTuple):
    """ranks (K,) int32; told (K,) bool, which slices have a clear rank; clear, whether enough of them do."""

    ranks: np.ndarray
    told: np.ndarray
    clear: bool


def looked_at(smaller):
    """How many singular values the choice reads of slices whose smaller side is `smaller`; 0: there is no choice.

    The ratios grow again towards the last values of a full-rank slice, so only ranks up to half the side are told.
    """
    return smaller // 2 + 1 if smaller > 1 else 0


def choose_ranks(values, rounding):
    """Ranks from the leading singular values (K, count) of each slice, falling.

    rounding: the values' relative error. Slices that are zero but for rounding have rank 0, and do not vote.
    """
    floor = max(float(values.max()) * rounding, 1e-300)
    zero = values[:, 0] <= floor
    values = np.maximum(values, floor)
    ratios = values[:, :-1] / values[:, 1:]
    ranks = np.where(zero, 0, ratios.argmax(axis=1) + 1).astype(np.int32)
    told = zero | (ratios.max(axis=1) >= CLEAR)
    votes = np.bincount(ranks[told & ~zero], minlength=1)
    voters = int((~zero).sum())
    clear = votes.sum() >= MOST_CLEAR * voters and voters > 0
    if clear and votes.max() >= AGREE * votes.sum():
        ranks[~zero], told[:] = votes.argmax(), True
    return Ranks(ranks, told, bool(clear))
