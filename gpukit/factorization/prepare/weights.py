"""Weights of ratings in the orders that training reads them in; `steps` is the module cpu.py or gpu.py beside this
file."""

from typing import NamedTuple

import numpy as np

AS_THEY_ARE = np.float32(0.0), np.float32(1.0)  # mean and deviation with which lay_out_values changes no number


class Weighed(NamedTuple):
    """The weights of n ratings on the device, (n,) float32: by_user and by_item, as ratings.orders has the ratings."""

    by_user: object
    by_item: object


def weighed(ratings, orders, steps):
    """The Weighed of Ratings in orders; None where they have no weights."""
    if ratings.weights is None:
        return None
    places = by_user(ratings, steps)
    given, counted = steps.resident(ratings.weights, np.float32), steps.empty(len(ratings), np.uint32)
    steps.run("count_up", counted)
    found = Weighed(*(steps.empty(len(ratings), np.float32) for _ in range(2)))
    for where, out in ((counted, found.by_user), (orders.places, found.by_item)):
        steps.run("lay_out_values", where, places, given, *AS_THEY_ARE, out)
    return found


def by_user(ratings, steps):
    """(n,) uint32 on the device: which of Ratings each one by user, items ascending, is."""
    rows = (steps.resident(side, np.int32) for side in (ratings.users, ratings.items))
    keys, places = steps.empty(len(ratings), np.uint64), steps.empty(len(ratings), np.uint32)
    steps.run("count_up", places)
    steps.run("pack_pairs", *rows, keys)
    return steps.sort_by_bits(keys, 0, 32 + max(1, ratings.shape[0].bit_length()), places)[1]


def laid_out(weights, walk, where, steps):
    """(n,) float32 on the device: a Weighed where an arrays.Side has the ratings."""
    own = weights.by_user if walk == "users" else weights.by_item
    counted, out = steps.empty(own.size, np.uint32), steps.empty(own.size, np.float32)
    steps.run("count_up", counted)
    steps.run("lay_out_values", where, counted, own, *AS_THEY_ARE, out)
    return out
