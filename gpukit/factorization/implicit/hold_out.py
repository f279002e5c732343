"""Sample clicks, and hold out a share of each user's."""

from typing import NamedTuple

import numpy as np

from gpukit.evaluation.splits import before_last
from gpukit.factorization.implicit.weights import tell_order
from gpukit.model_selection.splits import choose_users, keys_of, renumber
from gpukit.streams import Numpy

SHARE = 0.2  # of a user's clicks, rounded: one of three, but none of two
DRAWS = 3
FEW = 20  # users with a held-out click, at least
SAMPLE, LARGE = 80_000, 1_000_000  # clicks that all candidates are tried on; that a few more are tried on
PAIRS, JUDGES = 3_000_000, 100  # limit of (user, item) pairs that are ranked per candidate; at least these users


class Judges(NamedTuple):
    """Held-out clicks: user rows (n,) int32 and item rows (n,) int32; whether they are the latest."""

    users: np.ndarray
    items: np.ndarray
    latest: bool


def draw_sample(clicks, seed, limit):
    """Return Ratings with all clicks of some users.

    There are at most `limit` clicks, but always those of FEW users. Neither the users nor their new row numbers depend
    on the order of clicks and of ids.
    """
    keys = keys_of(clicks.users, clicks.items, clicks.shape, seed)
    clicks = clicks.take(choose_users(clicks.users, keys[0], limit, FEW)[clicks.users])
    users, n_users = renumber(clicks.users, keys[0])
    items, n_items = renumber(clicks.items, keys[1])
    order = np.lexsort((items, users))
    columns = {name: column[order] for name, column in clicks.columns().items()}
    columns = {**columns, "users": users[order], "items": items[order]}
    return type(clicks)(**columns, user_ids=np.arange(n_users), item_ids=np.arange(n_items))


def hold_out_draws(clicks, seed, draws=DRAWS):
    """Return a list of (training clicks, Judges): one by time if clicks have times, else `draws` at random."""
    if tell_order(clicks):
        return [hold_out_last(clicks, clicks.ranks_in_time("user-time"), True)]
    seeds = [[seed, Numpy.CLICK_JUDGES[0], draw] for draw in range(draws)]
    return [hold_out_last(clicks, clicks.ranks_by_chance(draw_seed), False) for draw_seed in seeds]


def hold_out_last(clicks, ranks, latest):
    """Return (training clicks, Judges), the Judges limited by PAIRS.

    ranks: (rank of each click among its user's, number of its user's clicks); the last SHARE is held out.
    """
    train, held_out = clicks.parted(before_last(*ranks, SHARE))
    users = np.unique(held_out.users)[: max(JUDGES, PAIRS // clicks.shape[1])]
    chosen = np.isin(held_out.users, users)
    return train, Judges(held_out.users[chosen], held_out.items[chosen], latest)
