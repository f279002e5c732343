"""Training of rows without earlier ratings, with all others fixed: lines 10 to 15 of Algorithm 4.

Update of all rows, which goes beyond Algorithm 4: rows with earlier ratings move, too.
"""

import numpy as np

from gpukit.factorization.arrays import History
from gpukit.factorization.constants import RULES
from gpukit.factorization.model.layout import BASE, BIAS, SQUARES, major_first
from gpukit.factorization.model.state import State, rows_of_side, without_factors
from gpukit.factorization.prepare import training_data
from gpukit.factorization.prepare.formulas import ASIDE, FirstRows
from gpukit.factorization.solvers import Task, rates
from gpukit.factorization.solvers.sgd import schedule
from gpukit.factorization.solvers.sgd import training as descent
from gpukit.factorization.solvers.sgd.schedule import RowChunks, table_of
from gpukit.random import key as random_key
from gpukit.ratings.orders.order import Orders, make_order, order_ratings
from gpukit.streams import Keyed

PARTS = 1024  # of the rows whose chunks are counted concurrently
MARK = int(ASIDE).bit_length() - 1


def find_runs(flags):
    """Return the runs of flagged rows, [(first, last + 1)]."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0], flags != 0, [0])).astype(np.int8)))
    return [(int(first), int(last)) for first, last in edges.reshape(-1, 2)]


def order_new_ratings(merged_batch, changes, state):
    """Return the Orders of the ratings of new rows in a merge.MergedBatch, None without any."""
    if merged_batch.keys is None:
        return None
    steps, key, n = state.ratings.steps, changes.key, merged_batch.keys.size
    marked = steps.empty(n, np.uint64)
    steps.run(
        "mark_fixed", merged_batch.keys, key.user.shift, key.item.shift, key.item.width, *merged_batch.fresh, marked
    )
    keys, _, _ = steps.sort_by_bits(marked, MARK, MARK + 1)
    learning = int(steps.fetch(steps.row_starts(keys, MARK, 1, 2))[1])
    if not learning:
        return None
    keys = keys if learning == n else keys[:learning]
    return Orders(changes.shape, state.ratings.levels, *sort_both_ways(keys, key, state), None)


def sort_both_ways(keys, key, state):
    """Return (by_item, by_user, places), as ratings.orders.order.in_both_orders, of keys sorted by user.

    keys (n,) uint64 are overwritten.
    """
    steps, ordering, preparing = state.ratings.steps, state.ratings.ordering, state.steps.preparing
    n, no_places = keys.size, steps.empty(0, np.uint32)
    by_user = make_order(keys, key, (key.user, 1), key.item, no_places, ordering, state.deterministic)
    keys, order, _ = steps.sort_by_bits(keys, 0, key.user.shift, training_data.device_range(n, preparing))
    by_item = make_order(keys, key, (key.item, 0), key.user, no_places, ordering)
    places = steps.empty(n, np.uint32)
    preparing.run("turn_around", order, places)
    return by_item, by_user, places


def baseline_of_new_rows(orders, flags, state, damping):
    """Return baseline biases ((M,), (N,)) float64 in z: stored ones, and damped means of the ratings of flagged rows.

    orders: Orders of the ratings of flagged rows; damping: of users, of items. The means alternate.
    """
    steps, base = state.ratings.steps, read_baseline(state)
    z = steps.resident(training_data.z_of_levels(orders, state.ratings.scale), np.float32)
    users = (orders.by_user, base[1], damping[0], flags[0], base[0])
    items = (orders.by_item, base[0], damping[1], flags[1], base[1])
    for order, other, side_damping, side_flags, biases in (items, users) * RULES.bias_sweeps:
        columns = order.starts, order.others, order.codes, z
        steps.run("fresh_means", *columns, other, float(side_damping), side_flags, biases)
    return base


def read_baseline(state):
    """Return the baseline biases of the parameter rows, ((M,), (N,)) float64 on the device."""
    steps, base = state.ratings.steps, []
    for table, rows in zip((state.users, state.items), state.shape):
        base.append(steps.empty(rows, np.float64))
        steps.run("read_base", table.all, base[-1])
    return tuple(base)


def pack_near(base, state):
    """Update near and offsets from the neighbours; base (N,) float64: baseline biases of the items."""
    steps, shape = state.ratings.steps, (state.shape[1] + 1, state.layout.slots)
    state.near, state.offsets = steps.empty(shape, np.int32), steps.empty(shape, np.float32)
    state.steps.preparing.run("pack_near", state.neighbors.all, base, state.near, state.offsets)


def learn(orders, flags, state, plan, report, recompute_base):
    """Train flagged rows ((M,), (N,)) on the Orders of their ratings, None without any; return ratings times epochs.

    plan: settings.Settings; report: called before each epoch and after the last with the epochs done and their total;
    None: epochs are queued on a GPU without waiting; recompute_base: the baseline biases of these rows are computed.
    """
    if orders is None:
        return 0
    base = baseline_of_new_rows(orders, flags, state, plan.damping) if recompute_base else read_baseline(state)
    if state.influence is not None:
        pack_near(base[1], state)
    session = state.session(initialize_rows(orders, flags, base, state, plan))
    if plan.epochs:
        training = begin_training(session, orders, state, plan, flags)
        run_epochs(training, plan, range(plan.epochs), report)
    tables, of_tables = (state.users, state.items, state.influence), (*flags, flags[1])
    for source, table, side_flags in zip(session.learned(), tables, of_tables):
        if table is not None:
            state.ratings.steps.run("take_flagged", source, side_flags, table.all)
    return len(orders) * plan.epochs


def initialize_rows(orders, flags, base, state, plan):
    """Return (users, items, influence): initial parameters of flagged rows, and fixed rows.

    Rows are fixed by their sum of squared errors. New rows take steps as if each of their ratings
    had been seen once (rates.row_rates). The other side's rows are trained already, unlike in a first training, and
    the steps of concurrent workers add up.
    """
    steps, rows, fixed = state.ratings.steps, [], np.float32(1e30)  # with inf, differences in kernels would be NaN
    sides = zip((state.users, state.items), (orders.by_user, orders.by_item), base, flags, Keyed.FIRST_FACTORS)
    for table, order, side_base, side_flags, stream in sides:
        n_factors = rows_of_side(state.layout, state.walk, stream == Keyed.FIRST_FACTORS[0]).n_factors
        n_factors, seed_key = n_factors * (plan.epochs > 0), np.uint32(random_key(plan.seed, stream))
        first = FirstRows(side_base, plan.biases or plan.held, n_factors, seed_key)
        rows.append(steps.empty(table.all.shape, np.float32))
        steps.run("begin_rows", table.all, side_flags, order.starts, first, fixed, rows[-1])
    if state.influence is None:
        return *rows, None
    influence = steps.empty(state.influence.all.shape, np.float32)
    steps.copy(influence, state.influence.all)
    return *rows, influence


def begin_training(session, orders, state, plan, flags=None):
    """Return the Training of a session on ratings in orders; flags: rows that learn, others are fixed; None: all."""
    preparing, query, scale = state.steps.preparing, None, state.ratings.scale
    in_strata = training_data.uses_strata(state.device, state.deterministic)
    side = training_data.side_of(orders, state.walk, scale, plan.seed, preparing, in_strata)
    if state.layout.slots:
        by_user = History(orders.by_user.starts, orders.by_user.others, None, None)
        query = training_data.training_query(by_user, orders, side, state.walk, preparing)
    data = training_data.TrainingData(state.ratings.history, side, query, scale, None)
    task = Task(orders, scale, data, plan, state.layout, state.steps, state.device, state.deterministic)
    if flags is None or state.deterministic:
        return descent.begin(session, task, descent.arrange(task))
    return descent.begin(session, task, cut_chunks(task, major_first(state.walk, *flags)[0], state.ratings.steps))


def run_epochs(training, plan, epochs, report):
    """Run epochs at the rates of these epoch numbers; report: see `learn`."""
    for turn, epoch in enumerate(epochs):
        if report:
            report(turn, len(epochs))
        step = training.step if report else training.start
        step(plan.epoch_rates(epoch), schedule.turn_key(plan.seed, turn))
    if report:
        report(len(epochs), len(epochs))


def cut_chunks(task, flags, steps):
    """Return descent.chunk_tables of a solvers.Task whose flagged major rows learn while the others are fixed.

    The chunks are those of schedule.chunk_table for many rows, most of them without ratings; the host processes none of
    the rows. flags (rows,) uint8 on the device; steps: of this package.
    """
    starts, settings, n = task.data.side.starts, task.settings, len(task.orders)
    most = steps.zeros(1, np.int64)
    steps.run("most_rated", starts, flags, most)
    counts = steps.fetch(most)
    row_steps = counts * rates.row_rates(settings.rates, settings.learning_rate, counts)  # increase with counts
    bounds = descent.default_workers(task), task.steps.most_workers(task.layout)
    workers = schedule.still_workers(n, row_steps, bounds)
    blind = max(workers - 1, 1e-9) / max(n, 1)
    gain = RULES.factor_gain if settings.rates == "adaptive" else 0.0
    pace = float(settings.learning_rate), gain, blind, schedule.longest_still(n, workers)
    before = count_chunks_before(starts, flags, pace, steps)
    row_chunks = RowChunks(starts, before, int(steps.fetch(before[flags.size :])[0]))
    return [table_of(row_chunks, workers, settings.seed, task.steps.chunking)], workers


def count_chunks_before(starts, flags, pace, steps):
    """Return the number of chunks of the rows before each, (rows + 1,) int64 on the device.

    pace: rate, gain, blind and longest of formulas.chunk_count.
    """
    rows = flags.size
    counts = steps.empty((min(PARTS, rows + 1), -(-(rows + 1) // min(PARTS, rows + 1))), np.int64)
    steps.run("count_chunks", starts, flags, *pace, counts.reshape(counts.size))
    parts, before = steps.scan_parts(counts), steps.empty(rows + 1, np.int64)
    steps.run("add_parts", counts.reshape(counts.size), parts, before)
    return before


def find_changed_items(before, now, touched, replay, options):
    """Return the items whose neighbours are searched, (N,) bool.

    These are new items. If rows may move, also items that have grown by item_growth, and all with new ratings if the
    whole history is replayed. before, now (N,): numbers of ratings; touched (N,) bool: items with new or corrected
    ratings.
    """
    new = (before == 0) & (now > 0)
    if options.rows == "frozen" or options.hashes == "kept":
        return new
    return (now >= RULES.item_growth * before) & touched | (touched & replay.is_whole) | new


def set_baseline(state, parameters, base, neighbors, is_held):
    """Set the baseline biases ((M,), (N,)) and the neighbours (N, K) of a DeviceState.

    parameters: its State; is_held: the biases are set to the baseline, too. Influences move with their neighbours.
    """
    sides = []
    for factors, extras, side_base in zip(factors_of(parameters), extras_of(parameters), base):
        extras[:, BASE] = side_base
        extras[:, BIAS] = side_base if is_held else extras[:, BIAS]
        sides += [factors, extras]
    state.set_parameters(State(*sides, carry_influence(parameters, neighbors), neighbors))


def carry_influence(state, neighbors):
    """Return the influences of a State, moved with their neighbours, (N, 2, K) float32; those of others are 0."""
    items_at_once = 4096  # in each comparison of old and new neighbours
    count, k = len(state.neighbors), neighbors.shape[1]
    influence = np.zeros((len(neighbors), 2, k), np.float32)
    same = (neighbors[:count] == state.neighbors).all(axis=1)
    influence[:count][same] = state.influence[same]
    changed = np.flatnonzero(~same)
    for first in range(0, len(changed), items_at_once):
        rows = changed[first : first + items_at_once]
        item, slot, old_slot = np.nonzero(neighbors[rows][:, :, None] == state.neighbors[rows][:, None, :])
        influence[rows[item], :, slot] = state.influence[rows[item], :, old_slot]
    return influence


def shrink_factors(state, fresh, known, share):
    """Return the State before an epoch over the whole history, with smaller factors and higher rates.

    Factors of rows with earlier ratings are multiplied by shrinkage; these and influences also by `share`
    (run.fit_share). A row's sum of squared errors is multiplied by a power of its share of earlier ratings, so that
    grown rows learn faster. fresh ((M,), (N,)) bool: rows without earlier ratings; known: share of earlier ratings of
    each row, 1 without ratings.
    """
    sides = []
    for factors, extras, new, earlier in zip(factors_of(state), extras_of(state), fresh, known):
        extras = extras.copy()
        extras[:, SQUARES] = extras[:, SQUARES] * np.where(new, 1, earlier**RULES.growth_power)
        sides += [factors * np.where(new, 1, share * RULES.shrinkage).astype(np.float32)[:, None], extras]
    shares = np.where(fresh[1], 1, share).astype(np.float32)
    return State(*sides, state.influence * shares[:, None, None], state.neighbors)


def learn_all(merged, counts, state, plan, report, replay, share):
    """Train all rows of a DeviceState; return ratings times epochs.

    merged: (Ratings, (n,) bool of the changed ones); a share of the unchanged ones is replayed; counts: ratings of each
    row ((M,), (N,)), before and after; report: see `learn`; replay: plan.Replay; share: of run.fit_share.
    """
    if not plan.epochs:
        state.set_parameters(without_factors(state.parameters()))
        return 0
    ratings, is_changed = merged
    replayed = np.random.default_rng([plan.seed, len(ratings)]).random(len(ratings)) < replay.share
    ratings = ratings.take(is_changed | replayed)
    if not len(ratings):
        return 0
    if replay.is_whole:
        before, now = counts
        fresh = tuple(old == 0 for old in before)
        known = tuple(np.maximum(old, 1) / np.maximum(new, 1) for old, new in zip(before, now))
        state.set_parameters(shrink_factors(state.parameters(), fresh, known, share))
    session = state.session()
    session.spread = True
    training = begin_training(session, order_ratings(ratings, state.device), state, plan)
    run_epochs(training, plan, replay.epochs, report)
    state.set_parameters(session.state())
    return len(ratings) * len(replay.epochs)


def factors_of(state):
    """Return the factors of both sides."""
    return state.user_factors, state.item_factors


def extras_of(state):
    """Return the extras of both sides."""
    return state.user_extras, state.item_extras
