"""What training reads, made of ratings in two orders; `steps` is the module cpu.py or gpu.py beside this file."""

from math import gcd
from typing import NamedTuple

import numpy as np

from gpukit.factorization.arrays import History, Query, Scale, Side
from gpukit.factorization.baseline import SWEEPS, weighted_moments
from gpukit.factorization.baseline import USUAL as USUAL_DAMPING
from gpukit.factorization.baseline import moments as moments_of_values
from gpukit.factorization.model.layout import LEVELS, major_first
from gpukit.factorization.prepare import trend as trends
from gpukit.factorization.prepare.conflict_free_blocks import in_strata, seats_of
from gpukit.factorization.prepare.weights import laid_out
from gpukit.factorization.solvers.sgd import schedule
from gpukit.random import key
from gpukit.ratings.orders.levels import moments as moments_of_levels
from gpukit.streams import Keyed

LEAST_DEVIATION = 1e-30  # of ratings, which float32 divides by
APART = 384  # bytes between the rows of one minor row and the next most popular: three lines of the L2 cache


class PreparationOptions(NamedTuple):
    """How a training goes about its ratings: walk 'users' or 'items', the side whose rows are walked; seed; whether
    without conflicts; whether it looks at neighbours; damping of the users' and the items' baseline biases; trend: how
    much of a line in numbers of ratings they are shrunk to (trend.py), or () for the mean of all ratings."""

    walk: str
    seed: int
    deterministic: bool
    near: bool
    damping: tuple = USUAL_DAMPING
    trend: tuple = ()


class TrainingData(NamedTuple):
    """What training reads, on the device: arrays.History, arrays.Side, the arrays.Query of every training rating (None
    where no neighbours are looked at), baseline biases in z (users', items') float64; weights.Weighed or None."""

    history: object
    side: object
    query: object
    baseline: tuple
    weights: object = None


def prepare_ratings(orders, scale, way, steps, weights=None):
    """The TrainingData of ratings in orders; weights: their weights.Weighed. On a GPU it is queued, not waited for."""
    history = history_of(orders, scale, steps)
    baseline = baseline_of(orders, scale, steps, way.damping, weights, way.trend)
    side = side_of(orders, way.walk, scale, way.seed, steps, way.deterministic)
    if weights is not None:
        side = side._replace(weights=laid_out(weights, way.walk, side.where, steps))
    query = training_query(history, orders, side, way.walk, steps) if way.near else None
    return TrainingData(history, side, query, baseline, weights)


def scale_of(orders, values, weights=None):
    """The Scale of ratings in orders; values (n,) float32, on the host: all of them; weights (n,) of them, or None."""
    low, high = orders.levels.values[[0, -1]] if orders.levels.exact else (values.min(), values.max())
    if weights is not None:
        mean, deviation = weighted_moments(values, weights)
    elif orders.levels.exact:
        mean, deviation = moments_of_levels(orders.levels)
    else:
        mean, deviation = moments_of_values(values)
    least = max(LEAST_DEVIATION, 1e-6 * abs(mean))
    return Scale(mean, deviation if deviation > least else 1.0, float(low), float(high))


def z_of_levels(orders, scale):
    """(256,) float32: z of a level's number."""
    z = np.zeros(LEVELS, np.float32)
    z[: len(orders.levels.values)] = (orders.levels.values - scale.mean) / scale.deviation
    return z


def history_of(orders, scale, steps):
    """The History of ratings in orders, on the device."""
    by_user = orders.by_user
    codes = steps.empty(by_user.codes.shape, np.uint8)
    steps.run("raise_codes", by_user.codes, codes)
    levels = np.roll(z_of_levels(orders, scale), 1)
    return History(by_user.starts, by_user.others, codes, steps.resident(levels, np.float32))


def side_of(orders, walk, scale, seed, steps, deterministic=False):
    """The Side that is walked, 'users' or 'items', rows in random order; in strata without conflicts where
    deterministic."""
    (order, others), shape = major_first(walk, orders.by_user, orders.by_item), major_first(walk, *orders.shape)
    indptr = None if order.indptr is None else order.indptr[: shape[0] + 1]
    where, strata = shuffled(order, seed, steps), None
    if deterministic:
        counts = np.diff(indptr), np.diff(others.indptr[: shape[1] + 1])
        blocks = schedule.block_count(len(orders), shape, steps.GRAIN, steps.MOST_BLOCKS)
        where, strata = in_strata(order.starts, order.others, where, seats_of(*counts, blocks, seed), steps)
    minor, values = laid_out_by(where, order, orders, walk, scale, steps)
    return Side(indptr, order.starts, minor, values, where, strata, others.starts)


def shuffled(order, seed, steps):
    """(n,) uint32 on the device: where each rating of an order stands once every row is in random order."""
    where = steps.empty(order.others.size, np.uint32)
    steps.run("shuffle_rows", order.starts, np.uint32(key(seed, Keyed.ROW_SHUFFLE[0])), where)
    return where


def laid_out_by(where, order, orders, walk, scale, steps):
    """(minor (n,) int32, values (n,) float32) on the device of the ratings of the order that is walked, moved by
    `where`."""
    minor, values = steps.empty(len(orders), np.int32), steps.empty(len(orders), np.float32)
    z = steps.resident(z_of_levels(orders, scale), np.float32)
    steps.run("lay_out", where, order.others, order.codes, z, minor, values)
    if orders.values is not None:
        places = orders.places if walk == "users" else counted(len(orders), steps)
        spread = np.float32(scale.mean), np.float32(scale.deviation)
        steps.run("lay_out_values", where, places, orders.values, *spread, values)
    return minor, values


def minor_places(side, rows, row_bytes, steps, order=None):
    """(rows + 1,) int32 on the device: where a GPU stores each row of a Side's minor side, and that of the unknown.

    Every rating adds to its minor row, and popular rows have a good part of all ratings, so how evenly they fall on the
    parts of the L2 cache sets an epoch's time. By falling number of ratings and APART bytes from one to the next they
    fall evenly, wherever the table lies; APART was found by trial. order (rows,) uint32: another one to store them
    in.
    """
    if order is None:
        n, keys, places = len(side.minor), steps.empty(rows, np.uint64), steps.empty(rows, np.uint32)
        steps.run("count_keys", side.minor_starts, n, keys, places)
        _, order, _ = steps.sort_by_bits(keys, 0, n.bit_length(), places)
    else:
        order = steps.resident(order, np.uint32)
    stored = steps.empty(rows + 1, np.int32)
    steps.run("spread_rows", order, step_of(rows, row_bytes), stored)
    return stored


def step_of(rows, row_bytes):
    """The number of rows that comes closest to APART bytes without a common divisor with all of them, or a few more."""
    step = max(1, round(APART / row_bytes))
    while gcd(step, rows) > 1:
        step += 1
    return step


def counted(n, steps):
    """(n,) uint32 0, 1, ... on the device."""
    places = steps.empty(n, np.uint32)
    steps.run("count_up", places)
    return places


def training_query(history, orders, side, walk, steps):
    """The Query that asks for every training rating, its line going where the Side has the rating."""
    if walk == "users":
        return Query(history.indptr, history.items, side.where)
    places = steps.empty(len(orders), np.uint32)
    steps.run("follow", side.where, orders.places, places)
    return Query(history.indptr, history.items, places)


def query_of(users, items, n_users, steps):
    """The Query of pairs of rows on the device; row n_users stands for an unknown user, the number of items for an
    unknown item."""
    size = users.size
    keys, places = steps.empty(size, np.uint64), counted(size, steps)
    steps.run("pack_pairs", users, items, keys)
    width = max(1, n_users.bit_length())
    keys, places, _ = steps.sort_by_bits(keys, 32, 32 + width, places)
    by_user = steps.empty(size, np.int32)
    steps.run("items_of", keys, by_user)
    return Query(steps.row_starts(keys, 32, width, n_users + 1), by_user, places)


def levelled(orders, scale, steps, way, weights=None):
    """A Scale whose mean is the baseline of rows without ratings; unchanged where the options have no trend."""
    if not way.trend:
        return scale
    z = steps.resident(z_of_levels(orders, scale), np.float32)
    level, _, _ = trends.biases(orders, z, steps, way.damping, way.trend, weights)
    return scale._replace(mean=float(scale.mean + scale.deviation * level))


def baseline_of(orders, scale, steps, damping=USUAL_DAMPING, weights=None, trend=()):
    """(user biases (M,), item biases (N,)) float64, in z, on the device: damped means, alternating; damping: of users,
    of items; weights: weights.Weighed, by which the means are weighted; trend: shares of the slopes of trend.py, which
    counts them then, around the level that `levelled` finds; what that is off by goes to the items.

    b_j = sum(z - b_i) / (n_j + damping) and the same for b_i, a few times around (gpukit.factorization.baseline has
    the source).
    """
    z = steps.resident(z_of_levels(orders, scale), np.float32)
    if trend:
        level, user_bias, item_bias = trends.biases(orders, z, steps, damping, trend, weights)
        item_bias[item_bias != 0] += level  # rows without ratings stay at 0
        return tuple(steps.resident(bias, np.float64) for bias in (user_bias, item_bias))
    users, items = orders.shape
    user_bias, item_bias = steps.zeros(users, np.float64), steps.empty(items, np.float64)
    for _ in range(SWEEPS):
        for order, rows, other, own, damped, counts in (
            (orders.by_item, items, user_bias, item_bias, damping[1], weights and weights.by_item),
            (orders.by_user, users, item_bias, user_bias, damping[0], weights and weights.by_user),
        ):
            read = order.starts[: rows + 1], order.others, order.codes, z
            if weights is None:
                steps.run("residual_means", *read, other, float(damped), own)
            else:
                steps.run("weighted_means", *read, counts, other, float(damped), own)
    return user_bias, item_bias


def errors(predicted, truth, scale, steps):
    """(sum of squared, sum of absolute errors) of predictions (n,) float32 in z, against truth (n,) float32 in the
    ratings' own units; both on the device."""
    sums = steps.empty((steps.PARTS, 2), np.float64)
    units = (np.float32(x) for x in (scale.deviation, scale.mean, scale.low, scale.high))
    steps.add_errors(predicted, truth, *units, sums)
    return tuple(float(total) for total in steps.fetch(sums).sum(axis=0))
