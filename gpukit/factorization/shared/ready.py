"""What a rank's training reads, made of its own ratings in two orders; `steps` is prepare.cpu or prepare.gpu."""

import numpy as np

from gpukit.factorization.arrays import Side
from gpukit.factorization.baseline import SWEEPS
from gpukit.factorization.model.layout import major_first
from gpukit.factorization.prepare import ready
from gpukit.factorization.prepare.ready import Ready
from gpukit.factorization.prepare.strata import in_strata
from gpukit.factorization.solvers.sgd import schedule
from gpukit.factorization.solvers.sgd.chunks.table import cut_table
from gpukit.factorization.solvers.sgd.rates import row_rates


def make_ready(orders, scale, way, steps, parts, team, own_steps):
    """(Ready, starts) of a rank's ratings in orders, for a ready.Way and parts.Parts; own_steps: cpu.py or gpu.py
    beside this file; starts: where the rows of each block begin (see by_block), or None."""
    history = ready.history_of(orders, scale, steps)
    baseline = baseline_of(orders, scale, steps, way.damping, parts, team)
    side, starts = side_of(orders, way, scale, parts, steps, own_steps)
    query = ready.training_query(history, orders, side, way.walk, steps) if way.near else None
    return Ready(history, side, query, baseline), starts


def baseline_of(orders, scale, steps, damping, parts, team):
    """ready.baseline_of over ranks: an item's bias is of all ranks' ratings, a user's where the user is (else 0)."""
    z = steps.resident(ready.z_of_levels(orders, scale), np.float32)
    users, items = orders.shape
    own, both = np.diff(orders.by_item.indptr[: items + 1]), parts.counts[1]
    user_bias, item_bias = steps.zeros(users, np.float64), steps.empty(items, np.float64)
    by_item, by_user = (
        (order.starts[: rows + 1], order.others, order.codes, z)
        for order, rows in ((orders.by_item, items), (orders.by_user, users))
    )
    for _ in range(SWEEPS):
        steps.run("residual_means", *by_item, user_bias, float(damping[1]), item_bias)
        sums = np.where(own > 0, steps.fetch(item_bias) * (own + damping[1]), 0.0)
        means = team.allreduce(sums) / np.maximum(both + damping[1], np.finfo(np.float64).tiny)
        item_bias = steps.resident(means, np.float64)
        steps.run("residual_means", *by_user, item_bias, float(damping[0]), user_bias)
    return user_bias, item_bias


def side_of(orders, way, scale, parts, steps, own_steps):
    """(arrays.Side of a rank's ratings, starts of by_block or None): grouped by stratum, or where users are walked by
    block of items; a walk over items finds its blocks' rows as they are."""
    order, other = major_first(way.walk, orders.by_user, orders.by_item)
    rows = major_first(way.walk, *orders.shape)[0]
    where, strata, starts = ready.shuffled(order, way.seed, steps), None, None
    if parts.seats is not None:
        where, strata = in_strata(order.starts, order.others, where, parts.seats, steps)
    elif way.walk == "users":
        where, starts = by_block(order, rows, where, parts, steps, own_steps)
    minor, values = ready.laid_out_by(where, order, orders, way.walk, scale, steps)
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


def chunk_tables(side, starts, parts, way, plan, layout, steps):
    """([chunk table a block, or a stratum], workers) of a rank; steps: factorization's cpu.py or gpu.py."""
    if side.strata is not None:
        return side.strata, len(side.strata)
    rates = row_rates(plan.rates, plan.learning_rate, major_first(way.walk, *parts.counts)[0])
    n, rows = len(side.minor), len(side.indptr) - 1
    workers = schedule.worker_count(n * parts.tour.ranks // parts.blocks, steps.most_workers(layout), layout.slots > 0)
    if starts is None:
        each = [(np.diff(side.indptr) * (parts.block == block), side.starts) for block in range(parts.blocks)]
    else:
        counts = np.diff(steps.chunking.fetch(starts)).reshape(parts.blocks, rows)
        each = [(counts[block], starts[block * rows : (block + 1) * rows + 1]) for block in range(parts.blocks)]
    return [cut_table(*one, workers, rates, plan.seed, steps.chunking) for one in each], workers
