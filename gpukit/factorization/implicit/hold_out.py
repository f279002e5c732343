"""Hold out a share of each user's clicks."""

from typing import NamedTuple

import numpy as np

from gpukit.evaluation.splits import mask_before_last
from gpukit.factorization.constants import RULES
from gpukit.factorization.implicit.weights import times_differ
from gpukit.streams import Numpy


class Judges(NamedTuple):
    """Held-out clicks: user rows (n,) int32 and item rows (n,) int32; whether they are the latest."""

    users: np.ndarray
    items: np.ndarray
    latest: bool


def hold_out_draws(clicks, seed, draws):
    """Return a list of (training clicks, Judges): one by time if clicks have times, else `draws` at random."""
    return [hold_out(clicks, seed, draw) for draw in range(1 if times_differ(clicks) else draws)]


def hold_out(clicks, seed, draw):
    """Return (training clicks, Judges): by time if clicks have times, else at random; draw: number of the draw."""
    if times_differ(clicks):
        return hold_out_last(clicks, clicks.ranks_in_time("user-time"), True)
    return hold_out_last(clicks, clicks.ranks_by_chance([seed, Numpy.CLICK_JUDGES[0], draw]), False)


def hold_out_last(clicks, ranks, latest):
    """Return (training clicks, Judges), the Judges limited by RULES.ranked_pairs.

    ranks: (rank of each click among its user's, number of its user's clicks); the last held_out_share is held out.
    """
    train, held_out = clicks.parted(mask_before_last(*ranks, RULES.held_out_share))
    users = np.unique(held_out.users)[: max(RULES.least_judges, RULES.ranked_pairs // clicks.shape[1])]
    chosen = np.isin(held_out.users, users)
    return train, Judges(held_out.users[chosen], held_out.items[chosen], latest)
