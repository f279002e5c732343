"""Synthetic ratings with the shape and skew of real data sets.

The real data cannot be redistributed.

    rating = mean + user bias + item bias + low rank + taste(user, item's group) + noise, rounded to the scale's steps

Factors can learn the low rank. Items come in groups of ten that the same people rate. A user's taste for a group is
independent of other users and groups, so a user's ratings of similar items agree beyond the low rank, and only
neighbourhood models can use this. The result does not depend on threads: sums keep their order (fastmath off) and
noise is made of integers. Users' and items' counts have the tails of the real data. Netflix, generated and
(real): longest row 17,059 (17,653), median row 97 (96), longest column 237,402 (232,944), median column 644 (561).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from gpukit import random
from gpukit._jit import njit
from gpukit.base import check_choice, check_integer, check_real
from gpukit.device import require_host
from gpukit.errors import ParameterError
from gpukit.normals import factor_of_total, normal, normals, shuffled_normals
from gpukit.ratings.table import DISTINCT, Ratings, set_state
from gpukit.scheduler import by_block
from gpukit.streams import Keyed

ACTIVITY, POPULARITY, GROUPING, NAMES, USER_BIAS, ITEM_BIAS, USER_FACTORS, ITEM_FACTORS, TASTE, NOISE, DRAWS = (
    Keyed.RATINGS_SYNTH
)

MOST = {"users": 2**31 - 1, "items": 2**31 - 1, "ratings": 2**32 - 1}  # limits of training


@dataclass(frozen=True)
class Shape:
    """Counts of users, items, ratings and test ratings, and their distribution.

    activity, popularity: standard deviations of the logarithms of users' and items' counts; longest: the largest share
    of all items that one user rates; cap: the largest weight of an item, in units of the mean; mean, lowest, highest,
    step: the scale; unit: one star of a 1-5 scale in units of this one; rank: of the factors.
    """

    users: int
    items: int
    ratings: int
    test: int
    activity: float
    popularity: float
    longest: float
    cap: float
    mean: float
    lowest: float
    highest: float
    step: float
    unit: float
    rank: int = 16


SHAPES = {
    "netflix": Shape(480_189, 17_770, 100_480_507, 1_408_395, 1.24, 2.6, 0.96, 105.0, 3.6, 1.0, 5.0, 1.0, 1.0),
    "ml-10m": Shape(69_878, 10_677, 10_000_054, 100_000, 1.2, 2.4, 0.66, 100.0, 3.5, 0.5, 5.0, 0.5, 0.95),
    "yahoo": Shape(586_250, 12_658, 92_970_212, 1_000_000, 1.2, 2.2, 0.9, 80.0, 50.0, 0.5, 100.0, 0.5, 26.0),
}


def synth_ratings(
    like: Literal["netflix", "ml-10m", "yahoo"] = "netflix", scale: float = 0.01, seed: int = 0
) -> Ratings:
    """Generate ratings with the shape of 'netflix', 'ml-10m' or 'yahoo'.

    The result depends only on the arguments, on any machine.

    Parameters
    ----------
    like : {'netflix', 'ml-10m', 'yahoo'}
    scale : float
        Fraction of the ratings; users and items scale with its square root, so that the density stays. 1 gives the
        shape of the papers, with training and test ratings together (`SHAPES[like].test` of them are for testing).
    seed : int

    Returns
    -------
    Ratings
        Grouped by user; ids are 1..M and 1..N.

    Raises
    ------
    ParameterError

    Examples
    --------
    >>> from gpukit import synth_ratings
    >>> synth_ratings("ml-10m", scale=0.001).shape
    (2210, 338)
    """
    return generate(scale_shape(like, scale), seed)[0]


def scale_shape(like, scale):
    """Return a data set's Shape scaled to a fraction of ratings."""
    shape = SHAPES[check_choice("like", like, tuple(SHAPES))]
    share = check_real("scale", scale, 0.0, 1.0, strict=True)
    side = share**0.5
    return replace(
        shape,
        users=max(2, round(shape.users * side)),
        items=max(2, round(shape.items * side)),
        ratings=max(4, round(shape.ratings * share)),
        test=round(shape.test * share),
    )


def resize_shape(shape, users=None, items=None, ratings=None):
    """Return the Shape with the given counts replaced."""
    arguments = {"users": users, "items": items, "ratings": ratings}
    return replace(
        shape,
        **{name: check_integer(name, count, 1, MOST[name]) for name, count in arguments.items() if count is not None},
    )


def generate(shape, seed=0):
    """Return (Ratings, facts) of a Shape.

    facts: RMSE of the true biases, of biases and factors, and of the full model.
    """
    seed = check_integer("seed", seed, 0)
    if not shape.users <= shape.ratings <= shape.users * shape.items:
        raise ParameterError(
            f"{shape.ratings:,} ratings do not fit {shape.users:,} users x {shape.items:,} items: at "
            "least one a user and at most one a pair."
        )
    rows = shape.users + shape.items
    require_host(rows * (16 * shape.rank + 64) + shape.ratings * 16, f"Generating ratings of {rows:,} users and items")
    indptr = np.concatenate(([0], np.cumsum(_counts(shape, seed))))
    weights, group, members = _catalogue(shape, seed)
    items = np.empty(shape.ratings, dtype=np.int32)
    draw_items(random.key(seed, DRAWS), indptr, weights, *alias_table(weights), group, members, items)
    values, facts = _draw_values(shape, seed, indptr, items, weights, group, len(members))
    users = np.repeat(np.arange(shape.users, dtype=np.int32), np.diff(indptr))
    ids = (np.arange(1, size + 1, dtype=np.int64) for size in (shape.users, shape.items))
    return set_state(Ratings(users, items, values, *ids), DISTINCT), facts


def _counts(shape, seed):
    """Return log-normal counts per user (M,) int64, >= 1, summing to shape.ratings."""
    weights = np.exp(shape.activity * shuffled_normals(random.key(seed, ACTIVITY), shape.users))
    mean = shape.ratings / shape.users
    longest = min(shape.items, max(shape.longest * shape.items, 1.5 * mean))

    def scaled(factor):
        return np.clip(np.floor(factor * weights), 1, longest).astype(np.int64)

    counts = scaled(factor_of_total(scaled, shape.ratings, 1e3 * longest))
    room = np.flatnonzero(counts < shape.items)
    while (missing := shape.ratings - counts.sum()) > 0:
        counts[room[:missing]] += 1
        room = np.flatnonzero(counts < shape.items)
    return counts


def _catalogue(shape, seed):
    """Return item weights and groups of items of similar popularity.

    weights (N,) float64, group (N,) int32, members (groups, 10) int32.
    """
    size = 10  # of a group
    popular = shuffled_normals(random.key(seed, POPULARITY), shape.items)
    weights = np.exp(shape.popularity * popular)
    for _ in range(20):  # the cap is a multiple of the mean, and lowers it
        weights = np.minimum(weights, shape.cap * weights.mean())
    weights = np.maximum(weights, 2e-3 * weights.mean())
    jitter = normals(random.key(seed, GROUPING), (shape.items, 1))[:, 0]
    order = np.argsort(popular + 0.3 * jitter, kind="stable")
    n_groups = -(-shape.items // size)
    members = np.full(n_groups * size, -1, dtype=np.int32)
    members[: shape.items] = order
    group = np.empty(shape.items, dtype=np.int32)
    group[order] = np.arange(shape.items) // size
    return weights, group, members.reshape(n_groups, size)


def _draw_values(shape, seed, indptr, items, weights, group, n_groups):
    """Return (values (n,) float32, facts)."""
    unit = np.float32(shape.unit)
    liking = np.round(np.log(weights / weights.mean()), 4).astype(np.float32)  # popular items are rated higher
    biases = (
        unit * np.float32(0.42) * normals(random.key(seed, USER_BIAS), (shape.users, 1))[:, 0],
        unit
        * (
            np.float32(0.38) * normals(random.key(seed, ITEM_BIAS), (shape.items, 1))[:, 0]
            + np.float32(0.05) * (liking - np.float32(2.0))
        ),
    )
    strength = (1.0 / np.sqrt(np.arange(shape.rank) + 2.0)).astype(np.float32)
    strength *= np.float32(np.sqrt(0.30) / np.sqrt((strength.astype(np.float64) ** 2).sum())) * unit
    factors = (
        normals(random.key(seed, USER_FACTORS), (shape.users, shape.rank)) * strength,
        normals(random.key(seed, ITEM_FACTORS), (shape.items, shape.rank)),
    )
    scale = np.array([shape.mean, 0.55 * unit, 0.80 * unit, shape.lowest, shape.highest, shape.step], dtype=np.float32)
    values, squares = np.empty(len(items), dtype=np.float32), np.empty((shape.users, 3), dtype=np.float64)
    keys = np.array([random.key(seed, TASTE), random.key(seed, NOISE)], dtype=np.uint32)
    rate(keys, indptr, items, (group, n_groups), (biases, factors), scale, values, squares)
    errors = np.sqrt(squares.sum(axis=0) / len(values))
    return values, dict(zip(("bias_floor", "factor_floor", "noise_floor"), map(float, errors), strict=True))


@njit
def alias_table(weights):
    """Build Walker's alias table: (threshold (n,) uint32, other (n,) int32).

    Vose's form [IEEE TSE 17(9), 1991].
    """
    n = len(weights)
    share = weights * (n / weights.sum())
    threshold, other = np.empty(n, dtype=np.uint32), np.empty(n, dtype=np.int32)
    stack, large, n_small, n_large, position = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64), 0, 0, 0
    for item in range(n):
        threshold[item], other[item] = np.uint32(0xFFFFFFFF), item
        if share[item] < 1.0:
            stack[n_small] = item
            n_small += 1
        else:
            large[n_large] = item
            n_large += 1
    while n_small > 0 and position < n_large:
        n_small -= 1
        low, high = stack[n_small], large[position]
        threshold[low] = np.uint32(share[low] * 4294967295.0)
        other[low] = high
        share[high] -= 1.0 - share[low]
        if share[high] < 1.0:
            stack[n_small] = high
            n_small += 1
            position += 1
    return threshold, other


@by_block(lambda indptr: len(indptr) - 1, fastmath=False)
def draw_items(start, stop, key, indptr, weights, threshold, other, group, members, items):
    """Sample distinct items of each user, popular ones more often.

    items (n,) int32: filled with indptr[u+1] - indptr[u] items of user u. weights (N,) float64 and their alias table;
    group (N,) int32 of each item; members (groups, size) int32: items of each group, -1 where a group is short.
    """
    race = 8  # users who rate more than 1/race of all items are sampled over all items
    for user in range(start, stop):
        user_items = items[indptr[user] : indptr[user + 1]]
        user_key = random.key(np.int64(key), user)
        if len(user_items) * race > len(weights):
            _race(user_key, weights, user_items)
        else:
            _draw(user_key, threshold, other, group, members, user_items)


@njit(fastmath=False)
def _draw(key, threshold, other, group, members, user_items):
    """Sample distinct items, by popularity or an earlier item's group.

    Repeated items are drawn again.
    """
    from_group = 0.5  # fraction of draws from the group of an item drawn before
    bitmap = np.zeros((len(threshold) + 63) // 64, dtype=np.uint64)
    count, turn = 0, 0
    while count < len(user_items):
        item = random.integer_below(key, turn, len(threshold))
        if random.bits(key, turn + 1) > threshold[item]:
            item = np.int64(other[item])
        if count > 0 and random.uniform(key, turn + 2) < from_group:
            friends = members[group[user_items[random.integer_below(key, turn + 3, count)]]]
            item = np.int64(friends[random.integer_below(key, turn + 4, len(friends))])
        turn += 5
        if item < 0:
            continue
        bit = np.uint64(1) << np.uint64(item & 63)
        if bitmap[item >> 6] & bit == 0:
            bitmap[item >> 6] |= bit
            user_items[count] = item
            count += 1


@njit(fastmath=False)
def _race(key, weights, user_items):
    """Sample the items with the smallest exponential times of rates weights[i].

    This is a weighted sample without replacement [Efraimidis and Spirakis, IPL 97(5), 2006].
    """
    times = np.empty(len(weights), dtype=np.float64)
    for item in range(len(weights)):
        times[item] = -np.log((random.bits(key, item) + 1.0) * 2.0**-32) / weights[item]
    last = _kth_smallest(times.copy(), len(user_items) - 1)
    count = 0
    for item in range(len(weights)):
        if times[item] <= last and count < len(user_items):
            user_items[count] = item
            count += 1


@njit
def _kth_smallest(values, k):
    """Return the value with k smaller or equal ones, reordering values; numba compiles np.partition for seconds."""
    first, last = 0, len(values) - 1
    while first < last:
        pivot, low, high = values[(first + last) // 2], first, last
        while low <= high:
            while values[low] < pivot:
                low += 1
            while values[high] > pivot:
                high -= 1
            if low <= high:
                values[low], values[high] = values[high], values[low]
                low += 1
                high -= 1
        if k <= high:
            last = high
        elif k >= low:
            first = low
        else:
            break
    return values[k]


@by_block(lambda indptr: len(indptr) - 1, fastmath=False)
def rate(start, stop, seed_keys, indptr, items, groups, effects, scale, values, squares):
    """Fill values (n,) float32 with ratings, rounded to the steps of the scale.

    seed_keys (2,) uint32 of TASTE and NOISE; groups: (group of each item (N,) int32, their number); effects: biases
    ((M,), (N,)) and factors ((M, F), (N, F)), float32; scale (6,) float32: mean, standard deviation of tastes and of
    noise, lowest, highest, step. squares (M, 3) float64: sums of squared errors of the biases alone, of biases and
    factors, and of the full model without noise.
    """
    (group, n_groups), (biases, factors) = groups, effects
    for user in range(start, stop):
        squares[user, :] = 0.0
        for index in range(indptr[user], indptr[user + 1]):
            item = items[index]
            plain = scale[0] + biases[0][user] + biases[1][item]
            low_rank = plain + _dot(factors[0][user], factors[1][item])
            taste = normal(seed_keys[0], np.int64(user) * n_groups + group[item])
            expected = low_rank + scale[1] * taste
            rating = expected + scale[2] * normal(seed_keys[1], index)
            values[index] = _clip(np.float32(np.round(rating / scale[5]) * scale[5]), scale)
            squares[user, 0] += np.float64(values[index] - _clip(plain, scale)) ** 2
            squares[user, 1] += np.float64(values[index] - _clip(low_rank, scale)) ** 2
            squares[user, 2] += np.float64(values[index] - _clip(expected, scale)) ** 2


@njit(fastmath=False)
def _clip(value, scale):
    return min(max(value, scale[3]), scale[4])


@njit(fastmath=False)
def _dot(left, right):
    total = np.float32(0.0)
    for factor in range(len(left)):
        total += left[factor] * right[factor]
    return total
