"""Training weights of clicks, by their counts and times; a held-out share of each user's clicks.

The weight is 1, more for frequent clicks and for a user's latest ones.
"""

from typing import NamedTuple

import numpy as np

from gpukit.evaluation.splits import mask_before_last
from gpukit.factorization.constants import RULES
from gpukit.streams import Numpy


def weigh_clicks(clicks, settings):
    """Return clicks as Ratings whose values are their weights by settings.Settings.

    counted: 1 + log(count); recency a: multiplied by 1 + a exp(-k / 10) for the k-th last click of a user.
    """
    weights = np.ones(len(clicks), np.float32)
    if settings.counted and clicks.counts is not None:
        weights += np.log(np.maximum(clicks.counts, 1)).astype(np.float32)
    if settings.recency and clicks.times is not None:
        weights *= (1.0 + settings.recency * np.exp(-places_from_last(clicks) / RULES.recent_clicks)).astype(np.float32)
    columns = {name: getattr(clicks, name) for name in ("users", "items")}
    return clicks.with_columns(**columns, values=weights)


def places_from_last(clicks):
    """Return (n,) int64: number of later clicks of the same user.

    Equal times count in their order in the data.
    """
    rank, size = clicks.ranks_in_time("user-time")
    return size - 1 - rank


def times_differ(clicks):
    """Return True if times order most clicks of the users."""
    if clicks.times is None:
        return False
    order = np.lexsort((clicks.times, clicks.users))
    users, times = clicks.users[order], clicks.times[order]
    pairs = users[1:] == users[:-1]
    return bool(pairs.any() and (times[1:] > times[:-1])[pairs].mean() > 0.5)


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
