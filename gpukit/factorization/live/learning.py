"""Training of rows without earlier ratings, with all others fixed: lines 10 to 15 of Algorithm 4."""

from typing import NamedTuple

import numpy as np

from gpukit.factorization.arrays import History
from gpukit.factorization.baseline import SWEEPS
from gpukit.factorization.live import pieces
from gpukit.factorization.live.merge import split_marked
from gpukit.factorization.model.state import rows_of_side
from gpukit.factorization.prepare import conflict_free_blocks, training_data
from gpukit.factorization.solvers import Task
from gpukit.factorization.solvers.sgd import schedule
from gpukit.factorization.solvers.sgd import training as descent
from gpukit.random import key
from gpukit.ratings.orders.order import Orders, taken
from gpukit.streams import Keyed

STILL = 1e30  # a sum of squared errors that fixes a row; with inf, differences in kernels would be NaN


class NewRows(NamedTuple):
    """Rows without earlier ratings.

    orders: Orders of their ratings; flags ((M,), (N,)) uint8 of the rows, on the device; base ((M,), (N,)) float64:
    baseline biases of all rows, in z, on the device.
    """

    orders: Orders
    flags: tuple
    base: tuple


def prepare_new_rows(part, new, state, damping):
    """Return the NewRows of a merge.MergedPart, None without any; update hashes and neighbours.

    damping: of the users' and the items' baseline biases.
    """
    for columns, sign in part.columns if state.hashes else ():
        state.hashes.add(columns, sign)
    orders = order_new_ratings(part, new, state) if part.keys is not None else None
    if orders is None:
        return None
    if state.hashes:
        runs = find_runs(state.context.live_steps.fetch(part.fresh[1]))
        if runs:
            state.hashes.find(runs, part.rated, state.neighbors.all)
    base = baseline_of_new_rows(orders, part.fresh, read_baseline(state), state.scale, damping, state.context)
    if state.influence is not None:
        pack_near(base[1], state)
    return NewRows(orders, part.fresh, base)


def find_runs(flags):
    """Return the runs of flagged rows, [(first, last + 1)]."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0], flags != 0, [0])).astype(np.int8)))
    return [(int(first), int(last)) for first, last in edges.reshape(-1, 2)]


def order_new_ratings(part, new, state):
    """Return the Orders of the ratings of new rows in a MergedPart, None without any."""
    steps, (_, item, user) = state.context.live_steps, new.key
    marked = steps.empty(part.keys.size, np.uint64)
    steps.run("mark_still", part.keys, user.shift, item.shift, item.width, *part.fresh, marked)
    keys, n = split_marked(marked, steps)
    if not n:
        return None
    keys = keys if n == keys.size else keys[:n]
    return Orders(new.shape, state.levels, *sort_both_ways(keys, new.key, state.context), None)


def sort_both_ways(keys, key, context):
    """Return (by_item, by_user, places), as ratings.orders.order.in_both_orders, of keys sorted by user.

    keys (n,) uint64 are overwritten.
    """
    steps, ordering, preparing, n = context.live_steps, context.ordering, context.steps.preparing, keys.size
    by_user = taken(keys, key, (key.user, 1), key.item, steps.empty(0, np.uint32), ordering, context.deterministic)
    keys, order, _ = steps.sort_by_bits(keys, 0, key.user.shift, training_data.device_range(n, preparing))
    by_item = taken(keys, key, (key.item, 0), key.user, steps.empty(0, np.uint32), ordering)
    places = steps.empty(n, np.uint32)
    preparing.run("turn_around", order, places)
    return by_item, by_user, places


def baseline_of_new_rows(orders, flags, base, scale, damping, context):
    """Update base ((M,), (N,)) float64 in z for flagged rows: alternating damped means of their ratings.

    damping: of users, of items. The biases of other rows stay.
    """
    z = context.live_steps.resident(training_data.z_of_levels(orders, scale), np.float32)
    of_items = orders.by_item, base[0], damping[1], flags[1], base[1]
    of_users = orders.by_user, base[1], damping[0], flags[0], base[0]
    for _ in range(SWEEPS):
        for order, other, side_damping, side_flags, biases in (of_items, of_users):
            columns = order.starts, order.others, order.codes, z
            context.live_steps.run("fresh_means", *columns, other, float(side_damping), side_flags, biases)
    return base


def read_baseline(state):
    """Return the baseline biases of the parameter rows, ((M,), (N,)) float64 on the device."""
    steps, base = state.context.live_steps, []
    for table, rows in zip((state.users, state.items), state.shape):
        base.append(steps.empty(rows, np.float64))
        steps.run("read_base", table.all, base[-1])
    return tuple(base)


def initialize_rows(fresh, state, plan):
    """Return (users, items, influence): initial parameters of flagged rows, and fixed rows.

    Rows are fixed by their sum of squared errors, STILL. New rows take steps as if each of their ratings had been seen
    once (rates.row_rates). The other side's rows are trained already, unlike in a first training, and the steps of
    concurrent workers add up.
    """
    context, rows, orders = state.context, [], (fresh.orders.by_user, fresh.orders.by_item)
    sides = zip((state.users, state.items), orders, fresh.base, fresh.flags, Keyed.FIRST_FACTORS)
    for table, order, base, flags, stream in sides:
        n_factors = rows_of_side(context.layout, context.walk, stream == Keyed.FIRST_FACTORS[0]).n_factors
        initial = base, plan.biases or plan.held, n_factors * (plan.epochs > 0), np.uint32(key(plan.seed, stream))
        rows.append(context.live_steps.empty(table.all.shape, np.float32))
        context.live_steps.run("begin_rows", table.all, flags, order.starts, *initial, np.float32(STILL), rows[-1])
    if state.influence is None:
        return *rows, None
    influence = context.live_steps.empty(state.influence.all.shape, np.float32)
    context.live_steps.copy(influence, state.influence.all)
    return *rows, influence


def pack_near(base, state):
    """Update near and offsets from the neighbours; base (N,) float64: baseline biases of the items."""
    steps, shape = state.context.live_steps, (state.shape[1] + 1, state.context.layout.slots)
    state.near, state.offsets = steps.empty(shape, np.int32), steps.empty(shape, np.float32)
    state.context.steps.preparing.run("pack_near", state.neighbors.all, base, state.near, state.offsets)


def train_new_rows(new_rows, state, plan, report=None):
    """Train NewRows at the rates of settings.Settings; return the number of ratings times epochs.

    report: called before each epoch and after the last with the epochs done and their total; None: epochs are queued on
    a GPU without waiting.
    """
    session = state.session(initialize_rows(new_rows, state, plan))
    if plan.epochs:
        run_epochs(session, new_rows, state, plan, report)
    trained, (users, items) = session.learned(), new_rows.flags
    for source, table, flags in zip(trained, (state.users, state.items, state.influence), (users, items, items)):
        if table is not None:
            state.context.live_steps.run("take_flagged", source, flags, table.all)
    return len(new_rows.orders) * plan.epochs


def run_epochs(session, new_rows, state, plan, report):
    """Run all epochs of a session over the ratings of NewRows."""
    context, orders, preparing = state.context, new_rows.orders, state.context.steps.preparing
    in_strata = conflict_free_blocks.uses_strata(context.device, context.deterministic)
    side = training_data.side_of(orders, context.walk, state.scale, plan.seed, preparing, in_strata)
    by_user, query = orders.by_user, None
    if context.layout.slots:
        history = History(by_user.starts, by_user.others, None, None)
        query = training_data.training_query(history, orders, side, context.walk, preparing)
    data = training_data.TrainingData(state.history, side, query, None)
    task = Task(orders, state.scale, data, plan, context.layout, context.steps, context.device, context.deterministic)
    if context.deterministic:
        arranged = descent.arrange(task)
    else:
        arranged = pieces.tables_with_fixed_rows(task, new_rows.flags, context)
    training = descent.begin(session, task, arranged)
    for turn in range(plan.epochs):
        if report:
            report(turn, plan.epochs)
        step = training.step if report else training.start
        step(plan.epoch_rates(turn), schedule.turn_key(plan.seed, turn))
    if report:
        report(plan.epochs, plan.epochs)
