"""Hold out a share of each user's clicks."""

from typing import NamedTuple

import numpy as np

from gpukit.evaluation.splits import before_last
from gpukit.factorization.implicit.weights import times_differ
from gpukit.streams import Numpy

SHARE = 0.2  # of a user's clicks, rounded: one of three, but none of two
FEW = 20  # users with a held-out click, at least
SAMPLE, LARGE, SMALL = 100_000, 300_000, 33_000  # clicks: all candidates; a few more of them; additions
PAIRS, JUDGES = 3_000_000, 100  # limit of (user, item) pairs that are ranked per candidate; at least these users


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
    """Return (training clicks, Judges), the Judges limited by PAIRS.

    ranks: (rank of each click among its user's, number of its user's clicks); the last SHARE is held out.
    """
    train, held_out = clicks.parted(before_last(*ranks, SHARE))
    users = np.unique(held_out.users)[: max(JUDGES, PAIRS // clicks.shape[1])]
    chosen = np.isin(held_out.users, users)
    return train, Judges(held_out.users[chosen], held_out.items[chosen], latest)
