"""Rows without ratings so far learn theirs while all others stand still: lines 10 to 15 of Algorithm 4."""

from typing import NamedTuple

import numpy as np

from gpukit.factorization.arrays import History
from gpukit.factorization.baseline import SWEEPS
from gpukit.factorization.live import pieces
from gpukit.factorization.live.merge import parted
from gpukit.factorization.model.state import rows_of_side
from gpukit.factorization.prepare import conflict_free_blocks, training_data
from gpukit.factorization.solvers import Task
from gpukit.factorization.solvers.sgd import schedule
from gpukit.factorization.solvers.sgd import training as descent
from gpukit.random import key
from gpukit.ratings.orders.order import Orders, taken
from gpukit.streams import Keyed

STILL = (
    1e30  # a sum of squared errors with which nothing moves; infinite, differences that kernels take were no numbers
)


class Fresh(NamedTuple):
    """What rows learn that had no ratings: Orders of those that they have now; flags ((M,), (N,)) uint8 of the rows,
    on the device; baseline biases ((M,), (N,)) float64 of all rows, in z, on the device."""

    orders: Orders
    flags: tuple
    base: tuple


def prepared(entered, new, held, damping):
    """The Fresh of an merge.Entered part, None where no row has ratings for the first time; hashes and neighbours
    have the part in them then. damping: of the users' and the items' baseline biases."""
    for columns, sign in entered.columns if held.hashes else ():
        held.hashes.add(columns, sign)
    orders = ratings_of_fresh(entered, new, held) if entered.keys is not None else None
    if orders is None:
        return None
    if held.hashes:
        runs = runs_of(held.work.own.fetch(entered.fresh[1]))
        if runs:
            held.hashes.find(runs, entered.rated, held.neighbors.all)
    base = fresh_baseline(orders, entered.fresh, base_of(held), held.scale, damping, held.work)
    if held.influence is not None:
        pack_near(base[1], held)
    return Fresh(orders, entered.fresh, base)


def runs_of(flags):
    """[(first, last)]: the runs of rows (last not included) that are flagged."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0], flags != 0, [0])).astype(np.int8)))
    return [(int(first), int(last)) for first, last in edges.reshape(-1, 2)]


def ratings_of_fresh(entered, new, held):
    """The Orders of the ratings in which an merge.Entered has a row for the first time."""
    own, (_, item, user) = held.work.own, new.key
    marked = own.empty(entered.keys.size, np.uint64)
    own.run("mark_still", entered.keys, user.shift, item.shift, item.width, *entered.fresh, marked)
    keys, n = parted(marked, own)
    if not n:
        return None
    keys = keys if n == keys.size else keys[:n]
    return Orders(new.shape, held.levels, *both_orders(keys, new.key, held.work), None)


def both_orders(keys, key, work):
    """(by_item, by_user, places) as ratings.orders.order.in_both_orders gives them, of keys (n,) uint64 that are in
    order by user already, which are overwritten."""
    own, ordering, preparing, n = work.own, work.ordering, work.steps.preparing, keys.size
    by_user = taken(keys, key, (key.user, 1), key.item, own.empty(0, np.uint32), ordering, work.deterministic)
    keys, order, _ = own.sort_by_bits(keys, 0, key.user.shift, training_data.device_range(n, preparing))
    by_item = taken(keys, key, (key.item, 0), key.user, own.empty(0, np.uint32), ordering)
    places = own.empty(n, np.uint32)
    preparing.run("turn_around", order, places)
    return by_item, by_user, places


def fresh_baseline(orders, flags, base, scale, damping, work):
    """base ((M,), (N,)) float64 in z, with those of flagged rows written: damped means of their ratings, in turns, the
    others' as they are; damping: of users, of items."""
    z = work.own.resident(training_data.z_of_levels(orders, scale), np.float32)
    of_items = orders.by_item, base[0], damping[1], flags[1], base[1]
    of_users = orders.by_user, base[1], damping[0], flags[0], base[0]
    for _ in range(SWEEPS):
        for order, other, damped, fresh, mine in (of_items, of_users):
            read = order.starts, order.others, order.codes, z
            work.own.run("fresh_means", *read, other, float(damped), fresh, mine)
    return base


def base_of(held):
    """((M,), (N,)) float64 on the device: the baseline biases of parameter rows."""
    own, found = held.work.own, []
    for table, rows in zip((held.users, held.items), held.shape):
        found.append(own.empty(rows, np.float64))
        own.run("read_base", table.all, found[-1])
    return tuple(found)


def begin_rows(fresh, held, plan):
    """(users, items, influence): parameter rows to work on, those flagged as training begins, the others as they are
    but for their sums of squared errors, which hold them still.

    Rows that begin take as large steps as if they had seen all their ratings once (rates.row_rates): what they learn
    from is full-grown, not small as when a training begins, and steps that many workers take at once would add up.
    """
    work, rows, orders = held.work, [], (fresh.orders.by_user, fresh.orders.by_item)
    sides = zip((held.users, held.items), orders, fresh.base, fresh.flags, Keyed.FIRST_FACTORS)
    for table, order, base, flags, stream in sides:
        n_factors = rows_of_side(work.layout, work.walk, stream == Keyed.FIRST_FACTORS[0]).n_factors
        beginning = base, plan.biases or plan.held, n_factors * (plan.epochs > 0), np.uint32(key(plan.seed, stream))
        rows.append(work.own.empty(table.all.shape, np.float32))
        work.own.run("begin_rows", table.all, flags, order.starts, *beginning, np.float32(STILL), rows[-1])
    if held.influence is None:
        return *rows, None
    influence = work.own.empty(held.influence.all.shape, np.float32)
    work.own.copy(influence, held.influence.all)
    return *rows, influence


def pack_near(base, held):
    """Have near and offsets of the neighbours as they are now, whose items' baseline biases are base (N,) float64."""
    own, shape = held.work.own, (held.shape[1] + 1, held.work.layout.slots)
    held.near, held.offsets = own.empty(shape, np.int32), own.empty(shape, np.float32)
    held.work.steps.preparing.run("pack_near", held.neighbors.all, base, held.near, held.offsets)


def learn(fresh, held, plan, heed=None):
    """Have the rows of a Fresh in the Held, learned at the rates of settings.Settings; how many ratings were walked.
    heed: called with the number of epochs that are done and of all, before each epoch and after the last; None: on a
    GPU they are queued one behind the other."""
    rows = begin_rows(fresh, held, plan)
    session = held.session(rows)
    if plan.epochs:
        walk(session, fresh, held, plan, heed)
    learned, (users, items) = session.learned(), fresh.flags
    for own, table, flags in zip(learned, (held.users, held.items, held.influence), (users, items, items)):
        if table is not None:
            held.work.own.run("take_flagged", own, flags, table.all)
    return len(fresh.orders) * plan.epochs


def walk(session, fresh, held, plan, heed):
    """All epochs of a session over the ratings of a Fresh."""
    work, orders = held.work, fresh.orders
    preparing, stratified = work.steps.preparing, conflict_free_blocks.uses_strata(work.device, work.deterministic)
    side = training_data.side_of(orders, work.walk, held.scale, plan.seed, preparing, stratified)
    by_user, query = orders.by_user, None
    if work.layout.slots:
        asked = History(by_user.starts, by_user.others, None, None)
        query = training_data.training_query(asked, orders, side, work.walk, preparing)
    made = training_data.TrainingData(held.history, side, query, None)
    task = Task(orders, held.scale, made, plan, work.layout, work.steps, work.device, work.deterministic)
    arranged = descent.arrange(task) if work.deterministic else pieces.still_tables(task, fresh.flags, work)
    training = descent.begin(session, task, arranged)
    for turn in range(plan.epochs):
        if heed:
            heed(turn, plan.epochs)
        step = training.step if heed else training.start
        step(plan.epoch_rates(turn), schedule.turn_key(plan.seed, turn))
    if heed:
        heed(plan.epochs, plan.epochs)
