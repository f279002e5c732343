"""Training data of a rank from its ratings in two orders; `steps` is prepare.cpu or prepare.gpu."""

import numpy as np

from gpukit.factorization.arrays import Side
from gpukit.factorization.baseline import SWEEPS
from gpukit.factorization.model.layout import major_first
from gpukit.factorization.prepare import training_data
from gpukit.factorization.prepare import trend as trends
from gpukit.factorization.prepare.conflict_free_blocks import arrange_in_strata
from gpukit.factorization.prepare.training_data import TrainingData
from gpukit.factorization.shared.block_schedule import Copies, Lap
from gpukit.factorization.solvers.rates import row_rates
from gpukit.factorization.solvers.sgd import schedule
from gpukit.factorization.solvers.sgd.chunk_table import cut_table

LAPS = tuple(share / 8 for share in range(9))  # bounds of the rounds of the blocks in the first epoch
FEWER = 4  # see match_workers
START = 9.0  # STALENESS at the full learning rate: that of one H200 at Netflix shape; twice that increases errors


def prepare_ratings(orders, scale, options, steps, parts, team):
    """Return the TrainingData of a rank's ratings in orders; options: PreparationOptions; parts: parts.Parts."""
    history = training_data.history_of(orders, scale, steps)
    baseline = baseline_of(orders, scale, steps, options, parts, team)
    side = side_of(orders, options, scale, parts, steps)
    query = training_data.training_query(history, orders, side, options.walk, steps) if options.near else None
    return TrainingData(history, side, query, baseline)


def center_scale(orders, scale, steps, options, parts, team):
    """training_data.center_scale over ranks."""
    if not options.trend:
        return scale
    level, _, _ = fit_trend(orders, scale, steps, options, parts, team)
    return scale._replace(mean=float(scale.mean + scale.deviation * level))


def fit_trend(orders, scale, steps, options, parts, team):
    """trend.biases over ranks."""
    z = steps.resident(training_data.z_of_levels(orders, scale), np.float32)
    sides = [
        trends.side_of(orders, side, z, steps, options.damping[side], options.trend[side], None)._replace(counts=counts)
        for side, counts in enumerate(parts.counts)
    ]

    def means_of(side, z, other, damping, steps):
        means = trends.damped_means(side, z, other, damping, steps)
        return combine_means(means, np.diff(steps.fetch(side.columns[0])), side.counts, damping, team)

    return trends.fit_biases(sides, z, steps, means_of)


def combine_means(means, rank_counts, counts, damping, team):
    """Return damped means over all ranks' ratings, (rows,) float64.

    means: damped means over this rank's ratings; rank_counts, counts (rows,): ratings of this rank, of all ranks.
    """
    sums = team.allreduce(np.where(rank_counts > 0, means * (rank_counts + damping), 0.0))
    return sums / np.maximum(counts + damping, np.finfo(np.float64).tiny)


def baseline_of(orders, scale, steps, options, parts, team):
    """training_data.baseline_of over ranks; a user's bias is valid on the rank of the user."""
    if options.trend:
        level, user_bias, item_bias = fit_trend(orders, scale, steps, options, parts, team)
        item_bias[item_bias != 0] += level  # rows without ratings stay at 0
        return tuple(steps.resident(bias, np.float64) for bias in (user_bias, item_bias))
    z = steps.resident(training_data.z_of_levels(orders, scale), np.float32)
    users, items = orders.shape
    rank_counts, (of_users, of_items) = np.diff(orders.by_item.indptr[: items + 1]), options.damping
    user_bias, item_bias = steps.zeros(users, np.float64), steps.empty(items, np.float64)
    by_item, by_user = (
        (order.starts[: rows + 1], order.others, order.codes, z)
        for order, rows in ((orders.by_item, items), (orders.by_user, users))
    )
    for _ in range(SWEEPS):
        steps.run("residual_means", *by_item, user_bias, float(of_items), item_bias)
        means = combine_means(steps.fetch(item_bias), rank_counts, parts.counts[1], of_items, team)
        item_bias = steps.resident(means, np.float64)
        steps.run("residual_means", *by_user, item_bias, float(of_users), user_bias)
    return user_bias, item_bias


def side_of(orders, options, scale, parts, steps):
    """Return the arrays.Side of a rank's ratings, in strata if training is deterministic."""
    order, other = major_first(options.walk, orders.by_user, orders.by_item)
    rows = major_first(options.walk, *orders.shape)[0]
    where, strata = training_data.shuffle_places(order, options.seed, steps), None
    if parts.assignment is not None:
        where, strata = arrange_in_strata(order.starts, order.others, where, parts.assignment, steps)
    minor, values = training_data.lay_out_ratings(where, order, orders, options.walk, scale, steps)
    return Side(order.indptr[: rows + 1], order.starts, minor, values, where, strata, other.starts)


def chunk_tables(side, parts, options, plan, layout, steps, own_steps):
    """Return (chunk tables of the blocks or strata, workers, Laps of the first epoch) of a rank.

    steps: cpu.py or gpu.py of the factorization; own_steps: those of this package.
    """
    if side.strata is not None:
        return side.strata, len(side.strata), [Lap(0.0, 1.0, len(side.strata))]
    rates = row_rates(plan.rates, plan.learning_rate, major_first(options.walk, *parts.counts)[0])
    n, counts, copied = len(side.minor), np.diff(side.indptr), isinstance(parts.schedule, Copies)
    most = own_steps.most_copy_workers(layout) if copied else steps.most_workers(layout)
    most = schedule.worker_count(n, most, layout.slots > 0)
    first, workers = bound_workers(most, parts, options.walk, plan)
    if copied:
        first, workers = match_workers(first, workers)
        pace = schedule.Pace(workers, rates, whole=schedule.whole_rows(n, workers, own_steps.PARTS))
        table = cut_table(counts, side.starts, pace, plan.seed, steps.chunking, own_steps.PARTS)
        return [table], workers, [Lap(0.0, 1.0, first)]
    pace, blocks = schedule.Pace(workers, rates), [counts * (parts.block == block) for block in range(parts.blocks)]
    tables = [cut_table(block, side.starts, pace, plan.seed, steps.chunking) for block in blocks]
    return tables, workers, [Lap(*ends, workers if ends[0] else first) for ends in zip(LAPS, LAPS[1:])]


def match_workers(first, workers):
    """Return (workers of the first epoch, of later ones) that share the chunks evenly.

    The first epoch uses all later workers or a divisor of them. With another number, some would get twice the chunks of
    others, and all would wait. Up to one worker in FEWER is given up for that.
    """
    if first >= workers - workers // FEWER:
        return first, first
    times, quad = -(-workers // first), schedule.QUAD
    first = workers // times if workers < times * quad else workers // (times * quad) * quad
    return first, first * times


def bound_workers(most, parts, walk, plan):
    """Return (workers of the first epoch, of later ones), bounded by the staleness of minor rows.

    If items are the major side, a user on one of R ranks has R times its share of the ratings. Steps of the
    first epoch start at the learning rate, later ones have the rate of the row. Two ranks with copies of a row may take
    twice START together, since changes are exchanged often enough. More than two take no more concurrent steps in the
    first epoch than one GPU: with four times as many, four H200s diverged.
    """
    counts = major_first(walk, *parts.counts)[1]
    concentration = 1 if walk == "users" else parts.schedule.ranks
    copies = parts.schedule.ranks if isinstance(parts.schedule, Copies) and parts.schedule.ranks > 2 else 1
    shares = concentration * counts / counts.sum()
    at_start = copies * shares.max() * plan.learning_rate
    later = (shares * row_rates(plan.rates, plan.learning_rate, counts)).max()
    bounds = (START / at_start, schedule.STALENESS / later)
    limits = (int(max(1, min(most, bound))) for bound in bounds)
    first, workers = (n if n <= schedule.QUAD else n // schedule.QUAD * schedule.QUAD for n in limits)
    return min(first, workers), workers
