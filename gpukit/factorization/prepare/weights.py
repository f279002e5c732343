"""Weights of ratings in the orders of training; `steps` is the module cpu.py or gpu.py of this package."""

from typing import NamedTuple

import numpy as np

UNSCALED = np.float32(0.0), np.float32(1.0)  # mean and deviation that leave values unchanged in lay_out_values


class OrderedWeights(NamedTuple):
    """Weights of n ratings, (n,) float32 on the device, in the orders by_user and by_item of ratings.orders."""

    by_user: object
    by_item: object


def order_weights(ratings, orders, steps):
    """Return the OrderedWeights of Ratings in orders; None for unweighted ratings."""
    if ratings.weights is None:
        return None
    places = sort_by_user(ratings, steps)
    values, identity = steps.resident(ratings.weights, np.float32), steps.empty(len(ratings), np.uint32)
    steps.run("count_up", identity)
    weights = OrderedWeights(*(steps.empty(len(ratings), np.float32) for _ in range(2)))
    for where, out in ((identity, weights.by_user), (orders.places, weights.by_item)):
        steps.run("lay_out_values", where, places, values, *UNSCALED, out)
    return weights


def sort_by_user(ratings, steps):
    """Return the index in Ratings of each rating by user, then by item, (n,) uint32 on the device."""
    rows = (steps.resident(side, np.int32) for side in (ratings.users, ratings.items))
    keys, places = steps.empty(len(ratings), np.uint64), steps.empty(len(ratings), np.uint32)
    steps.run("count_up", places)
    steps.run("pack_pairs", *rows, keys)
    return steps.sort_by_bits(keys, 0, 32 + max(1, ratings.shape[0].bit_length()), places)[1]


def lay_out_weights(weights, walk, where, steps):
    """Return OrderedWeights permuted to the positions `where` of an arrays.Side, (n,) float32 on the device."""
    values = weights.by_user if walk == "users" else weights.by_item
    identity, out = steps.empty(values.size, np.uint32), steps.empty(values.size, np.float32)
    steps.run("count_up", identity)
    steps.run("lay_out_values", where, identity, values, *UNSCALED, out)
    return out
