"""Sample rated items and ratings as functions of (seed, user, draw).

The result does not depend on threads. Sums keep their order (fastmath off) and noise is made of integers, so all
machines give the same ratings.
"""

import numpy as np

from gpukit import random
from gpukit._jit import njit
from gpukit.normals import normal
from gpukit.scheduler import by_block
from gpukit.streams import Keyed

ACTIVITY, POPULARITY, GROUPING, NAMES, USER_BIAS, ITEM_BIAS, USER_FACTORS, ITEM_FACTORS, TASTE, NOISE, DRAWS = (
    Keyed.RATINGS_SYNTH
)

FRIENDS = 0.5  # fraction of draws from the group of an item drawn before
RACE = 8  # users who rate more than 1/RACE of all items are sampled over all items


@njit
def alias_table(weights):
    """Build Walker's alias table: (threshold (n,) uint32, other (n,) int32).

    Vose's form [IEEE TSE 17(9), 1991].
    """
    n = len(weights)
    share = weights * (n / weights.sum())
    threshold, other = np.full(n, np.uint32(0xFFFFFFFF)), np.arange(n).astype(np.int32)
    small, large = np.flatnonzero(share < 1.0), np.flatnonzero(share >= 1.0)
    stack, n_small, at = np.empty(n, dtype=np.int64), len(small), 0
    stack[:n_small] = small
    while n_small > 0 and at < len(large):
        n_small -= 1
        low, high = stack[n_small], large[at]
        threshold[low] = np.uint32(share[low] * 4294967295.0)
        other[low] = high
        share[high] -= 1.0 - share[low]
        if share[high] < 1.0:
            stack[n_small] = high
            n_small += 1
            at += 1
    return threshold, other


@by_block(lambda indptr: len(indptr) - 1, fastmath=False)
def draw_items(start, stop, key, indptr, weights, threshold, other, group, members, items):
    """Sample distinct items of each user, popular ones more often.

    items (n,) int32: filled with indptr[u+1] - indptr[u] items of user u. weights (N,) float64 and their alias table;
    group (N,) int32 of each item; members (groups, size) int32: items of each group, -1 where a group is short.
    """
    for user in range(start, stop):
        mine = items[indptr[user] : indptr[user + 1]]
        own = random.key(np.int64(key), user)
        if len(mine) * RACE > len(weights):
            _race(own, weights, mine)
        else:
            _draw(own, threshold, other, group, members, mine)


@njit(fastmath=False)
def _draw(key, threshold, other, group, members, mine):
    """Sample distinct items, by popularity or an earlier item's group.

    Repeated items are drawn again.
    """
    taken = np.zeros((len(threshold) + 63) // 64, dtype=np.uint64)
    count, turn = 0, 0
    while count < len(mine):
        item = random.below(key, turn, len(threshold))
        if random.bits(key, turn + 1) > threshold[item]:
            item = np.int64(other[item])
        if count > 0 and random.uniform(key, turn + 2) < FRIENDS:
            friends = members[group[mine[random.below(key, turn + 3, count)]]]
            item = np.int64(friends[random.below(key, turn + 4, len(friends))])
        turn += 5
        if item < 0:
            continue
        bit = np.uint64(1) << np.uint64(item & 63)
        if taken[item >> 6] & bit == 0:
            taken[item >> 6] |= bit
            mine[count] = item
            count += 1


@njit(fastmath=False)
def _race(key, weights, mine):
    """Sample the items with the smallest exponential times of rates weights[i].

    This is a weighted sample without replacement [Efraimidis and Spirakis, IPL 97(5), 2006].
    """
    times = np.empty(len(weights), dtype=np.float64)
    for item in range(len(weights)):
        times[item] = -np.log((random.bits(key, item) + 1.0) * 2.0**-32) / weights[item]
    if len(mine) == len(weights):
        mine[:] = np.arange(len(weights))
        return
    last = np.partition(times, len(mine) - 1)[len(mine) - 1]
    count = 0
    for item in range(len(weights)):
        if times[item] <= last and count < len(mine):
            mine[count] = item
            count += 1


@by_block(lambda indptr: len(indptr) - 1, fastmath=False)
def rate(start, stop, seed_keys, indptr, items, group, n_groups, biases, factors, scale, values, squares):
    """Fill values (n,) float32 with ratings, rounded to the steps of the scale.

    seed_keys (2,) uint32 of TASTE and NOISE; biases ((M,), (N,)) and factors ((M, F), (N, F)) float32; scale (6,)
    float32: mean, standard deviation of tastes and of noise, lowest, highest, step. squares (M, 3) float64: sums of
    squared errors of the biases alone, of biases and factors, and of the full model without noise.
    """
    for user in range(start, stop):
        squares[user, :] = 0.0
        for at in range(indptr[user], indptr[user + 1]):
            item = items[at]
            plain = scale[0] + biases[0][user] + biases[1][item]
            low_rank = plain + _dot(factors[0][user], factors[1][item])
            taste = normal(seed_keys[0], np.int64(user) * n_groups + group[item])
            expected = low_rank + scale[1] * taste
            rating = expected + scale[2] * normal(seed_keys[1], at)
            values[at] = _clipped(np.float32(np.round(rating / scale[5]) * scale[5]), scale)
            squares[user, 0] += np.float64(values[at] - _clipped(plain, scale)) ** 2
            squares[user, 1] += np.float64(values[at] - _clipped(low_rank, scale)) ** 2
            squares[user, 2] += np.float64(values[at] - _clipped(expected, scale)) ** 2


@njit(fastmath=False)
def _clipped(value, scale):
    return min(max(value, scale[3]), scale[4])


@njit(fastmath=False)
def _dot(left, right):
    total = np.float32(0.0)
    for factor in range(len(left)):
        total += left[factor] * right[factor]
    return total
