"""Training data from ratings in two orders; `steps` is the module factorization/cpu.py or gpu.py.

Damped biases around a fitted level that may depend on a row's number of ratings.

Items with few ratings have lower ratings on average, and the bias of a row with few ratings is close to the level that
it is shrunk to. With n_j ratings of row j and damping d,

    b_j = (sum(z - c - b_i) + d s x_j) / (n_j + d),    x_j = log(1 + n_j / 5)

and likewise for the other side: alternating ridge regressions, as in `baseline_of`, around a line. The level and the
slope of a side are those of the weighted line through the means of its rows. The weight of a mean is n_j d / (n_j + d),
the inverse of its variance if biases have variance sigma^2 / d and ratings sigma^2 (Gelman and Hill 2007, chapter 12: a
group-level predictor). s is a share of that slope, which the caller chooses. c, the sum of both levels, is the
prediction for rows without ratings. It is added to the mean, and b_j of such a row is 0. The mean of all ratings would
be dominated by prolific users and popular items.

Deterministic training for any number of threads: blocks in strata without conflicts (Gemulla et al. 2011).

The rows of both sides are assigned to the same number of blocks. Stratum s has the blocks (b, (b + s) mod blocks). No
two of them share a row, so threads may process them concurrently in any order. The number of blocks depends on the
ratings alone. The ratings of a block are contiguous, its rows in random order.
"""

import math
from typing import NamedTuple

import numpy as np

from gpukit.factorization.arrays import History, Query, Scale, Side
from gpukit.factorization.constants import DAMPING, RULES
from gpukit.factorization.constants import USUAL as USUAL_DAMPING
from gpukit.factorization.model.layout import LEVELS, major_first
from gpukit.factorization.solvers.sgd import schedule
from gpukit.random import key
from gpukit.ratings.orders.order import moments as moments_of_levels
from gpukit.streams import Keyed


class TrendSide:
    """Rows of one side of ratings in orders, whose biases are damped to a line in their numbers of ratings.

    side: 0 for users, 1 for items; z (256,) float32 on the device: z of each level; share: of the slope; weights:
    OrderedWeights or None; counts (rows,) float64: ratings of each row, or their total weight; None: those of orders.
    """

    def __init__(self, orders, side, z, steps, damping, share, weights=None, counts=None):
        flat = 1e-9  # variance of x below which all rows count as equally often rated
        order, rows = (orders.by_user, orders.by_item)[side], orders.shape[side]
        self.columns, self.steps, self.damping = (order.starts[: rows + 1], order.others, order.codes), steps, damping
        self.weights = None if weights is None else weights[side]
        counts = self.count_ratings(z, orders.shape[1 - side]) if counts is None else counts
        self.x = np.log1p(counts / DAMPING)
        self.shrinkage = counts / (counts + damping)
        self.undamped = (counts + damping) / np.where(counts > 0, counts, 1.0)  # a mean over a damped one
        self.shares = self.shrinkage / self.shrinkage.sum()  # weights of the means
        centered = self.x - self.shares @ self.x
        self.slopes = self.shares * centered
        spread = self.slopes @ centered
        self.slopes *= share / spread if spread > flat else 0.0

    def count_ratings(self, z, n_others):
        """Return the ratings of each row, or their total weight, (rows,) float64 on the host."""
        many = 1e9  # a damping that exceeds every number of ratings by far
        if self.weights is None:
            return np.diff(self.steps.fetch(self.columns[0])).astype(np.float64)
        ones = self.steps.resident(np.ones(len(z)), np.float32)
        parts = self.damped_means(ones, np.zeros(n_others), many)  # n / (n + many)
        return many * parts / (1.0 - parts)

    def damped_means(self, z, other, damping):
        """Return sum(z - bias of the other side) / (n + damping), (rows,) float64 on the host."""
        steps = self.steps
        other, means = steps.resident(other, np.float64), steps.empty(len(self.columns[0]) - 1, np.float64)
        if self.weights is None:
            steps.run("residual_means", *self.columns, z, other, float(damping), means)
        else:
            steps.run("weighted_means", *self.columns, z, self.weights, other, float(damping), means)
        return steps.fetch(means)

    def shrink_to_line(self, means):
        """Return (biases (rows,) above the level, level) of damped means; the level is that of a row without
        ratings."""
        undamped = means * self.undamped
        slope = self.slopes @ undamped
        level = self.shares @ undamped - slope * (self.shares @ self.x)
        return means - self.shrinkage * level + (1.0 - self.shrinkage) * (slope * self.x), level


def trend_biases(orders, z, steps, damping, shares, weights=None, ranks=None):
    """Return (c, user biases (M,), item biases (N,)) float64 in z, on the host.

    z (256,) float32 on the device: z of each level; damping, shares: of users, of items; weights: OrderedWeights or
    None; ranks: shared.partition.RankMeans or None.
    """
    counts = (None, None) if ranks is None else ranks.counts
    sides = [TrendSide(orders, side, z, steps, damping[side], shares[side], weights, counts[side]) for side in (0, 1)]
    biases, levels = [np.zeros(rows) for rows in orders.shape], [0.0, 0.0]
    for _ in range(RULES.trend_sweeps):
        for side, other in ((1, 0), (0, 1)):
            means = sides[side].damped_means(z, biases[other] + levels[other], damping[side])
            if ranks is not None:
                means = ranks.combine(side, means, damping[side])
            biases[side], levels[side] = sides[side].shrink_to_line(means)
            if ranks is not None and side == 0:
                biases[0] = biases[0][ranks.users]
    return sum(levels), *biases


class BlockAssignment(NamedTuple):
    """Blocks of the rows of both sides, on the host.

    blocks; turns: major rows of a block, at most; seat (rows,) int32: block * turns + turn of each major row; block
    (rows,) int32 of each minor row.
    """

    blocks: int
    turns: int
    seat: np.ndarray
    block: np.ndarray

    @property
    def runs(self):
        """Number of runs: ratings of one row in one block; some are empty."""
        return self.blocks * self.blocks * self.turns


def assign_blocks(counts, others, blocks, seed):
    """Return the BlockAssignment of major and minor rows with counts and others (rows,) ratings."""
    (block, turn), (other_block, _) = (schedule.deal_rows(side, blocks, seed) for side in (counts, others))
    turns = -(-len(counts) // blocks)
    return BlockAssignment(blocks, turns, (block * turns + turn).astype(np.int32), other_block)


def arrange_in_strata(starts, others, where, assignment, steps):
    """Return (where, tables) on the device: positions of the ratings by block, and the chunk table of each stratum.

    starts (rows + 1,), others (n,): as in ratings.orders; where (n,): positions of the ratings in shuffled rows. A
    table is (turns * blocks, 3) int64, ordered by turn with one chunk per block. A rank with some of the rows has all
    turns, because the first rating of a chunk is drawn by the number of the chunk.
    """
    n, run_bits = where.size, max(1, assignment.runs.bit_length())
    keys, places = steps.empty(n, np.uint64), steps.empty(n, np.uint32)
    seat, block = steps.resident(assignment.seat, np.int32), steps.resident(assignment.block, np.int32)
    steps.run("key_runs", starts, others, where, seat, block, assignment.blocks, assignment.turns, keys)
    steps.run("count_up", places)
    keys, places, spare = steps.sort_by_bits(keys, 0, run_bits, places)
    run_starts, keys, moved_places = steps.row_starts(keys, 0, run_bits, assignment.runs), None, spare[1]
    spare = None  # with keys 16 bytes per rating
    steps.run("turn_around", places, moved_places)
    steps.run("follow", moved_places, where, places)
    blocks, size = assignment.blocks, assignment.blocks * assignment.turns
    table, rows = steps.empty((assignment.runs, 3), np.int64), np.zeros(size, np.int32)
    rows[assignment.seat] = np.arange(len(assignment.seat))
    steps.run("cut_runs", run_starts, steps.resident(rows, np.int32), blocks, assignment.turns, table)
    return places, [table[s * size : (s + 1) * size] for s in range(blocks)]


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
    values, identity = steps.resident(ratings.weights, np.float32), device_range(len(ratings), steps)
    weights = OrderedWeights(*(steps.empty(len(ratings), np.float32) for _ in range(2)))
    for where, out in ((identity, weights.by_user), (orders.places, weights.by_item)):
        steps.run("lay_out_values", where, places, values, *UNSCALED, out)
    return weights


def sort_by_user(ratings, steps):
    """Return the index in Ratings of each rating by user, then by item, (n,) uint32 on the device."""
    rows = (steps.resident(side, np.int32) for side in (ratings.users, ratings.items))
    keys, places = steps.empty(len(ratings), np.uint64), device_range(len(ratings), steps)
    steps.run("pack_pairs", *rows, keys)
    return steps.sort_by_bits(keys, 0, 32 + max(1, ratings.shape[0].bit_length()), places)[1]


def lay_out_weights(weights, walk, where, steps):
    """Return OrderedWeights permuted to the positions `where` of an arrays.Side, (n,) float32 on the device."""
    values = weights.by_user if walk == "users" else weights.by_item
    out = steps.empty(values.size, np.float32)
    steps.run("lay_out_values", where, device_range(values.size, steps), values, *UNSCALED, out)
    return out


class PreparationOptions(NamedTuple):
    """Options of the preparation.

    walk: 'users' or 'items', the major side; seed; deterministic: train in blocks without conflicts; near: use
    neighbours; damping: of the users' and of the items' baseline biases; trend: shares of the slopes of `trend_biases`,
    or () for biases around the mean of all ratings.
    """

    walk: str
    seed: int
    deterministic: bool
    near: bool
    damping: tuple = USUAL_DAMPING
    trend: tuple = ()


class TrainingData(NamedTuple):
    """Input of training, on the device.

    history: arrays.History; side: arrays.Side; query: arrays.Query of every training rating, None without neighbours;
    scale: Scale; baseline: biases in z (users', items') float64; weights: OrderedWeights or None.
    """

    history: object
    side: object
    query: object
    scale: object
    baseline: tuple
    weights: object = None


def prepare_ratings(orders, scale, options, steps, weights=None, ranks=None, assignment=None):
    """Return the TrainingData of ratings in orders; queued on a GPU.

    With a trend its Scale has the prediction for rows without ratings as its mean. ranks:
    shared.partition.RankMeans; assignment: BlockAssignment of this rank's rows by the ratings of all ranks.
    """
    level, *baseline = fit_baseline(orders, scale, steps, options, weights, ranks)
    scale = scale._replace(mean=float(scale.mean + scale.deviation * level))
    history = history_of(orders, scale, steps)
    numbers = None if ranks is None or options.walk == "items" else steps.resident(ranks.numbers, np.uint32)
    side = side_of(orders, options.walk, scale, options.seed, steps, options.deterministic, assignment, numbers)
    if weights is not None:
        side = side._replace(weights=lay_out_weights(weights, options.walk, side.where, steps))
    query = training_query(history, orders, side, options.walk, steps) if options.near else None
    return TrainingData(history, side, query, scale, tuple(baseline), weights)


def moments_of_values(values):
    """Return (mean, standard deviation) float64 of values (n,) float32."""
    piece = 1 << 16  # numbers that fit the cache
    mean = float(values.mean(dtype=np.float64)) if values.size else 0.0
    squares = 0.0
    for first in range(0, values.size, piece):
        away = values[first : first + piece] - np.float64(mean)
        squares += away @ away
    return mean, math.sqrt(squares / max(values.size, 1))


def weighted_moments(values, weights):
    """Return the weighted (mean, standard deviation) float64 of values.

    values (n,) float32, weights (n,).
    """
    mean = float(np.average(values, weights=weights))
    return mean, math.sqrt(np.average((values - np.float64(mean)) ** 2, weights=weights))


def scale_of(orders, values, weights=None):
    """Return the Scale of ratings in orders; values, weights (n,) float32 on the host, weights may be None."""
    low, high = orders.levels.values[[0, -1]] if orders.levels.exact else (values.min(), values.max())
    if weights is not None:
        mean, deviation = weighted_moments(values, weights)
    elif orders.levels.exact:
        mean, deviation = moments_of_levels(orders.levels)
    else:
        mean, deviation = moments_of_values(values)
    return scale_from(mean, deviation, low, high)


def scale_from(mean, deviation, low, high):
    """Return the Scale of ratings with these moments and bounds; its deviation is 1 if they hardly differ."""
    least_deviation = 1e-30  # of ratings; float32 divides by it
    least = max(least_deviation, 1e-6 * abs(mean))
    return Scale(float(mean), float(deviation) if deviation > least else 1.0, float(low), float(high))


def z_of_levels(orders, scale):
    """Return z of each level, (256,) float32."""
    z = np.zeros(LEVELS, np.float32)
    z[: len(orders.levels.values)] = (orders.levels.values - scale.mean) / scale.deviation
    return z


def history_of(orders, scale, steps):
    """Return the History of ratings in orders, on the device."""
    by_user = orders.by_user
    codes = steps.empty(by_user.codes.shape, np.uint8)
    steps.run("raise_codes", by_user.codes, codes)
    levels = np.roll(z_of_levels(orders, scale), 1)
    return History(by_user.starts, by_user.others, codes, steps.resident(levels, np.float32))


def side_of(orders, walk, scale, seed, steps, deterministic=False, assignment=None, numbers=None):
    """Return the Side of the major side `walk`, with shuffled rows; in strata if deterministic.

    assignment: BlockAssignment of the strata; None: that of these ratings. numbers: see `shuffle_places`.
    """
    (order, others), shape = major_first(walk, orders.by_user, orders.by_item), major_first(walk, *orders.shape)
    indptr = None if order.indptr is None else order.indptr[: shape[0] + 1]
    where, strata = shuffle_places(order, seed, steps, numbers), None
    if deterministic and assignment is None:
        counts = np.diff(indptr), np.diff(others.indptr[: shape[1] + 1])
        blocks = schedule.block_count(len(orders), shape, steps.GRAIN, steps.MOST_BLOCKS)
        assignment = assign_blocks(*counts, blocks, seed)
    if deterministic:
        where, strata = arrange_in_strata(order.starts, order.others, where, assignment, steps)
    minor, values = lay_out_ratings(where, order, orders, walk, scale, steps)
    return Side(indptr, order.starts, minor, values, where, strata, others.starts)


def shuffle_places(order, seed, steps, numbers=None):
    """Return the position of each rating of an order after its row is shuffled, (n,) uint32 on the device.

    numbers (rows or more,) uint32 on the device: number of each row among those of all ranks; None: its position.
    """
    where = steps.empty(order.others.size, np.uint32)
    numbers = device_range(order.starts.size - 1, steps) if numbers is None else numbers
    steps.run("shuffle_rows", order.starts, numbers, np.uint32(key(seed, Keyed.ROW_SHUFFLE[0])), where)
    return where


def lay_out_ratings(where, order, orders, walk, scale, steps):
    """Return (minor (n,) int32, values (n,) float32) of the major order, permuted by `where`, on the device."""
    minor, values = steps.empty(len(orders), np.int32), steps.empty(len(orders), np.float32)
    z = steps.resident(z_of_levels(orders, scale), np.float32)
    steps.run("lay_out", where, order.others, order.codes, z, minor, values)
    if orders.values is not None:
        places = orders.places if walk == "users" else device_range(len(orders), steps)
        spread = np.float32(scale.mean), np.float32(scale.deviation)
        steps.run("lay_out_values", where, places, orders.values, *spread, values)
    return minor, values


def minor_places(side, rows, row_bytes, steps, order=None):
    """Return the storage position of each minor row on a GPU and of the unknown row, (rows + 1,) int32 on the device.

    Every rating adds to its minor row, and popular rows have a large share of all ratings. Their distribution over the
    parts of the L2 cache therefore sets the time of an epoch. It is even if rows are stored by falling number of
    ratings, 384 bytes apart, wherever the table begins. order (rows,) uint32: another order
    of storage.
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
    """Return the number of rows closest to 384 bytes, increased until coprime with `rows`."""
    distance = 384  # three lines of the L2 cache; found by trial
    step = max(1, round(distance / row_bytes))
    while math.gcd(step, rows) > 1:
        step += 1
    return step


def device_range(n, steps):
    """Return 0, 1, ..., n - 1 as uint32 on the device."""
    places = steps.empty(n, np.uint32)
    steps.run("count_up", places)
    return places


def training_query(history, orders, side, walk, steps):
    """Return the Query of every training rating; its line goes to the rating's position in the Side."""
    if walk == "users":
        return Query(history.indptr, history.items, side.where)
    places = steps.empty(len(orders), np.uint32)
    steps.run("follow", side.where, orders.places, places)
    return Query(history.indptr, history.items, places)


def query_of(users, items, n_users, steps):
    """Return the Query of pairs of rows on the device.

    Row n_users stands for an unknown user, the number of items for an unknown item.
    """
    size = users.size
    keys, places = steps.empty(size, np.uint64), device_range(size, steps)
    steps.run("pack_pairs", users, items, keys)
    width = max(1, n_users.bit_length())
    keys, places, _ = steps.sort_by_bits(keys, 32, 32 + width, places)
    by_user = steps.empty(size, np.int32)
    steps.run("items_of", keys, by_user)
    return Query(steps.row_starts(keys, 32, width, n_users + 1), by_user, places)


def fit_baseline(orders, scale, steps, options, weights=None, ranks=None):
    """Return (level, user biases, item biases) in z, the biases on the device or, with a trend, on the host.

    level: prediction for rows without ratings, 0 without a trend.
    """
    if not options.trend:
        return 0.0, *baseline_of(orders, scale, steps, options.damping, weights, ranks=ranks)
    z = steps.resident(z_of_levels(orders, scale), np.float32)
    return trend_biases(orders, z, steps, options.damping, options.trend, weights, ranks)


def baseline_of(orders, scale, steps, damping=USUAL_DAMPING, weights=None, ranks=None):
    """Return (user biases (M,), item biases (N,)) float64 in z, on the device: alternating damped means.

    b_j = sum(z - b_i) / (n_j + damping), and likewise for b_i, for a few sweeps: the paper's "simple case" of Eq. (1),
    damped as usual (Koren 2010, sec. 2.1). Rows without ratings have bias 0. damping: of users, of items. weights:
    OrderedWeights of the means. ranks: shared.partition.RankMeans of the users that this rank has.
    """
    z = steps.resident(z_of_levels(orders, scale), np.float32)
    sides = tuple(zip((orders.by_user, orders.by_item), orders.shape))
    biases = [steps.zeros(orders.shape[0], np.float64), steps.empty(orders.shape[1], np.float64)]
    for side in (1, 0) * RULES.bias_sweeps:
        (order, rows), other, side_damping = sides[side], biases[1 - side], float(damping[side])
        columns = order.starts[: rows + 1], order.others, order.codes, z
        if weights is None:
            steps.run("residual_means", *columns, other, side_damping, biases[side])
        else:
            steps.run("weighted_means", *columns, weights[side], other, side_damping, biases[side])
        if ranks is not None and side == 1:
            biases[1] = steps.resident(ranks.combine(1, steps.fetch(biases[1]), side_damping), np.float64)
    return tuple(biases)


def errors(predicted, truth, scale, steps):
    """Return (sum of squared, sum of absolute errors) in the ratings' units.

    predicted (n,) float32, in z; truth (n,) float32, in the ratings' units; both on the device.
    """
    sums = steps.empty((steps.PARTS, 2), np.float64)
    units = (np.float32(x) for x in (scale.deviation, scale.mean, scale.low, scale.high))
    steps.add_errors(predicted, truth, *units, sums)
    return tuple(float(total) for total in steps.fetch(sums).sum(axis=0))
