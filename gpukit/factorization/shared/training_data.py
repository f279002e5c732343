"""What a rank's training reads, made of its own ratings in two orders; `steps` is prepare.cpu or prepare.gpu."""

import numpy as np

from gpukit.factorization.arrays import Side
from gpukit.factorization.baseline import SWEEPS
from gpukit.factorization.model.layout import major_first
from gpukit.factorization.prepare import training_data
from gpukit.factorization.prepare import trend as trends
from gpukit.factorization.prepare.conflict_free_blocks import arrange_in_strata
from gpukit.factorization.prepare.training_data import TrainingData
from gpukit.factorization.shared.block_schedule import Copies, Lap
from gpukit.factorization.solvers.sgd import schedule
from gpukit.factorization.solvers.sgd.chunks.table import cut_table
from gpukit.factorization.solvers.sgd.rates import row_rates

LAPS = tuple(share / 8 for share in range(9))  # of the first epoch: shares of its ratings with a round of the blocks
FEWER = 4  # see in_step
TWO = 2  # ranks with copies take twice START together: rows' changes meet often enough
START = 9.0  # as STALENESS, for steps at the full learning rate: one H200 at Netflix shape has it, twice that harms


def prepare_ratings(orders, scale, way, steps, parts, team, own_steps):
    """Return (TrainingData, starts) of a rank's ratings in orders.

    way: PreparationOptions; parts: parts.Parts; own_steps: cpu.py or gpu.py of this package; starts: first rating of
    each row of each block (see by_block), or None.
    """
    history = training_data.history_of(orders, scale, steps)
    baseline = baseline_of(orders, scale, steps, way, parts, team)
    side, starts = side_of(orders, way, scale, parts, steps, own_steps)
    query = training_data.training_query(history, orders, side, way.walk, steps) if way.near else None
    return TrainingData(history, side, query, baseline), starts


def center_scale(orders, scale, steps, way, parts, team):
    """training_data.center_scale over ranks."""
    if not way.trend:
        return scale
    level, _, _ = trended(orders, scale, steps, way, parts, team)
    return scale._replace(mean=float(scale.mean + scale.deviation * level))


def trended(orders, scale, steps, way, parts, team):
    """trend.biases over ranks."""
    z = steps.resident(training_data.z_of_levels(orders, scale), np.float32)
    sides = [
        trends.side_of(orders, side, z, steps, way.damping[side], way.trend[side], None)._replace(counts=counts)
        for side, counts in enumerate(parts.counts)
    ]

    def means_of(side, z, other, damping, steps):
        own = trends.damped_means(side, z, other, damping, steps)
        return of_all_ranks(own, np.diff(steps.fetch(side.columns[0])), side.counts, damping, team)

    return trends.fit_biases(sides, z, steps, means_of)


def of_all_ranks(means, own, counts, damping, team):
    """(rows,) float64 damped means over all ranks' ratings, counts (rows,), of a rank's own: means, own (rows,)."""
    sums = team.allreduce(np.where(own > 0, means * (own + damping), 0.0))
    return sums / np.maximum(counts + damping, np.finfo(np.float64).tiny)


def baseline_of(orders, scale, steps, way, parts, team):
    """baseline_of over ranks: an item's bias is of all ranks' ratings, a user's right where the user is."""
    if way.trend:
        level, user_bias, item_bias = trended(orders, scale, steps, way, parts, team)
        item_bias[item_bias != 0] += level  # rows without ratings stay at 0
        return tuple(steps.resident(bias, np.float64) for bias in (user_bias, item_bias))
    z = steps.resident(training_data.z_of_levels(orders, scale), np.float32)
    users, items = orders.shape
    own, (of_users, of_items) = np.diff(orders.by_item.indptr[: items + 1]), way.damping
    user_bias, item_bias = steps.zeros(users, np.float64), steps.empty(items, np.float64)
    by_item, by_user = (
        (order.starts[: rows + 1], order.others, order.codes, z)
        for order, rows in ((orders.by_item, items), (orders.by_user, users))
    )
    for _ in range(SWEEPS):
        steps.run("residual_means", *by_item, user_bias, float(of_items), item_bias)
        means = of_all_ranks(steps.fetch(item_bias), own, parts.counts[1], of_items, team)
        item_bias = steps.resident(means, np.float64)
        steps.run("residual_means", *by_user, item_bias, float(of_users), user_bias)
    return user_bias, item_bias


def side_of(orders, way, scale, parts, steps, own_steps):
    """(arrays.Side of a rank's ratings, starts of by_block or None): grouped by stratum, or where users are walked by
    block of items; a walk over items finds its blocks' rows as they are."""
    order, other = major_first(way.walk, orders.by_user, orders.by_item)
    rows = major_first(way.walk, *orders.shape)[0]
    where, strata, starts = training_data.shuffle_places(order, way.seed, steps), None, None
    if parts.seats is not None:
        where, strata = arrange_in_strata(order.starts, order.others, where, parts.seats, steps)
    elif way.walk == "users" and parts.blocks > 1:
        where, starts = by_block(order, rows, where, parts, steps, own_steps)
    minor, values = training_data.lay_out_ratings(where, order, orders, way.walk, scale, steps)
    return Side(order.indptr[: rows + 1], order.starts, minor, values, where, strata, other.starts), starts


def by_block(order, rows, where, parts, steps, own_steps):
    """(where, starts (B rows + 1,) int64) on the device: ratings, shuffled in their rows by `where`, grouped by block,
    then by row: those of row r in block b begin at starts[b rows + r]."""
    n, lines = where.size, parts.blocks * rows
    width = max(1, lines.bit_length())
    keys, places, moved = steps.empty(n, np.uint64), steps.empty(n, np.uint32), steps.empty(n, np.uint32)
    block = steps.resident(parts.block, np.int32)
    own_steps.run("key_blocks", order.starts, order.others, where, block, rows, keys)
    steps.run("count_up", places)
    keys, places, _ = steps.sort_by_bits(keys, 0, width, places)
    starts = steps.row_starts(keys, 0, width, lines)
    steps.run("turn_around", places, moved)
    steps.run("follow", moved, where, places)
    return places, starts


def chunk_tables(side, starts, parts, way, plan, layout, steps, own_steps):
    """([chunk table a block, or a stratum], workers, the first epoch's Laps) of a rank; steps: factorization's
    cpu.py or gpu.py; own_steps: those beside this file."""
    if side.strata is not None:
        return side.strata, len(side.strata), [Lap(0.0, 1.0, len(side.strata))]
    rates = row_rates(plan.rates, plan.learning_rate, major_first(way.walk, *parts.counts)[0])
    n, rows, copied = len(side.minor), len(side.indptr) - 1, isinstance(parts.schedule, Copies)
    at_once = n if copied else n * parts.schedule.ranks // parts.blocks
    most = own_steps.most_beside(layout) if copied else steps.most_workers(layout)
    most = schedule.worker_count(at_once, most, layout.slots > 0)
    first, workers = workers_that_meet(most, parts, way.walk, plan)
    if copied:
        first, workers = in_step(first, workers)
        each = [(np.diff(side.indptr), side.starts)]
    elif starts is None:
        each = [(np.diff(side.indptr) * (parts.block == block), side.starts) for block in range(parts.blocks)]
    else:
        counts = np.diff(steps.chunking.fetch(starts)).reshape(parts.blocks, rows)
        each = [(counts[block], starts[block * rows : (block + 1) * rows + 1]) for block in range(parts.blocks)]
    pieces = own_steps.PARTS if copied else 1
    pace = schedule.Pace(workers, rates, whole=schedule.whole_rows(n, workers, pieces) if copied else 0)
    tables = [cut_table(*one, pace, plan.seed, steps.chunking, pieces) for one in each]
    if copied:
        return tables, workers, [Lap(0.0, 1.0, first)]
    return tables, workers, [Lap(*ends, workers if ends[0] else first) for ends in zip(LAPS, LAPS[1:])]


def in_step(first, workers):
    """(workers of the first epoch, of all others): about as many as asked for, such that what is dealt evenly to the
    others is even for the first epoch's too. They get what others have, or the chunks of so many of them; of another
    number some would have twice what others have, and all would wait. A worker in FEWER less costs an epoch little."""
    if first >= workers - workers // FEWER:
        return first, first
    times, quad = -(-workers // first), schedule.QUAD
    first = workers // times if workers < times * quad else workers // (times * quad) * quad
    return first, first * times


def workers_that_meet(most, parts, walk, plan):
    """(workers of the first epoch, of all others), at most `most`: so many that they do not meet on a minor row more
    often than its steps bear.

    Where a block of B is walked, its items have B times their share of the ratings at hand, and users R times theirs on
    each of R ranks. In the first epoch a row's steps begin at the learning rate, later they are as its ratings make
    them. Of more than TWO ranks with copies of a row all together take no more of the first epoch's steps at a time
    than one GPU: with four times as many, four H200s diverged.
    """
    counts = major_first(walk, *parts.counts)[1]
    crowding = parts.blocks if walk == "users" else parts.schedule.ranks
    together = parts.schedule.ranks if isinstance(parts.schedule, Copies) and parts.schedule.ranks > TWO else 1
    shares = crowding * counts / counts.sum()
    steep = together * shares.max() * plan.learning_rate
    later = (shares * row_rates(plan.rates, plan.learning_rate, counts)).max()
    found = (int(max(1, min(most, bound / one))) for bound, one in ((START, steep), (schedule.STALENESS, later)))
    first, workers = (one if one <= schedule.QUAD else one // schedule.QUAD * schedule.QUAD for one in found)
    return min(first, workers), workers
