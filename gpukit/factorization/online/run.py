"""One update of a model on its device: the computation of `partial_fit` and of `Live.add`.

Rows without earlier ratings are trained with all others fixed: lines 10 to 15 of Algorithm 4.
"""

import copy
from typing import NamedTuple

import numpy as np

from gpukit import device as devices
from gpukit import interrupt
from gpukit.factorization.arrays import History
from gpukit.factorization.constants import RULES
from gpukit.factorization.model.layout import BASE, BIAS, LEVELS, major_first
from gpukit.factorization.model.state import rows_of_side, without_factors
from gpukit.factorization.online import device_state, inputs
from gpukit.factorization.online.device_state import DeviceRatings, DeviceState
from gpukit.factorization.online.inputs import (
    empty_entry,
    has_grown,
    last_full_count,
    late_epochs,
    new_entry,
    settings_of_model,
)
from gpukit.factorization.prepare import training_data
from gpukit.factorization.prepare.formulas import ASIDE, FirstRows
from gpukit.factorization.settings import RETRAINED, WEIGHTED
from gpukit.factorization.solvers import Task, rates
from gpukit.factorization.solvers.sgd import schedule
from gpukit.factorization.solvers.sgd import training as descent
from gpukit.factorization.solvers.sgd.schedule import RowChunks, table_of
from gpukit.random import key as random_key
from gpukit.ratings.orders.order import Orders, make_order, order_ratings
from gpukit.streams import Keyed
from gpukit.timing import Clock


class Update(NamedTuple):
    """Inputs of one update, which is then computed by `update`.

    model: the fitted estimator, whose settings are used; ids: (user ids, item ids) of the grown model; changes:
    device_state.Changes; options: inputs.Options; settled: number of ratings at the last training on all ratings;
    clock: timing.Clock; progress: see fit; None: epochs are queued on a GPU without waiting.
    """

    model: object
    ids: tuple
    changes: device_state.Changes
    options: object
    settled: int
    clock: object
    progress: object = None


def update_model(model, ratings, options, progress):
    """Update a fitted model of ratings with validated Ratings, each pair once; retrain it if it is due.

    options: inputs.Options. Raises DataError, DeviceMemoryError; the model is then unchanged.
    """
    device, clock, log = devices.resolve(model.device), Clock(), getattr(model, "updates_", [])
    with devices.translate_memory_errors(device, "Updating"):
        progress("merging", 0, 1, {})
        with clock("merge"):
            stored, ids, changes = read_changes(model, ratings, options, device)
        if not len(changes):
            model.updates_ = [*log, empty_entry(model, options.rows)]
            return
        full_count = last_full_count(log, len(stored))
        retrains = options.rows != "frozen" and WEIGHTED not in model.chosen_
        if not (retrains and has_grown(full_count, len(stored) + len(changes))):
            state = DeviceState(model, device, stored)
            entry = update(state, Update(model, ids, changes, options, full_count, clock, progress))
            model.device_, model.updates_ = str(device), [*log, entry]
            model.set_fitted(state.parameters(), stored.download(), stored.scale, *ids)
            return
        device_state.merge_changes(changes, stored)
        ratings, scale = stored.to_ratings(*ids), stored.scale
    stored = None  # frees memory of the device
    fitted = retrain_model(model, ratings, changes.n_corrected, progress)
    fitted._scale, fitted.scale_ = with_bounds_of(fitted._scale, scale)
    replace_model(model, fitted)


def read_changes(model, ratings, options, device, keep_unchanged=False):
    """Return (DeviceRatings, (user ids, item ids), device_state.Changes or ()) of a fitted model by new Ratings."""
    ids = model.user_ids_, model.item_ids_
    stored = DeviceRatings(model._rated, model._scale, len(ids[1]), device)
    if not len(ratings):
        return stored, ids, ()
    batch = inputs.in_rows(ratings, ids, stored.steps)
    new = device_state.sort_batch(batch, stored)
    return stored, batch[3:], device_state.find_changes(batch, new, stored, options.duplicates, keep_unchanged)


def update(state, request):
    """Update a DeviceState by an Update; return the entry of `updates_`."""
    changes, ratings, clock, options = request.changes, state.ratings, request.clock, request.options
    n_now = len(ratings) + changes.n_new
    plan = settings_of_model(request.model, n_now)
    with clock("merge"):
        state.grow(changes.shape)
        merged_batch = device_state.merge_changes(changes, ratings)
        flags = [ratings.steps.fetch(side) for side in merged_batch.fresh] if merged_batch.fresh else []
    with clock("orders"):
        searches = bool(flags) and flags[1].any() and state.layout.slots > 0 and state.hashes is None
        all_orders = order_ratings(ratings.to_ratings(*request.ids), state.device) if searches else None
        orders = order_new_ratings(merged_batch, changes, state)
    with clock("neighbours"):
        find_new_neighbors(state, request.model, merged_batch, flags, all_orders)
    with clock("training"), interrupt.defer() as pressed:
        report = request.progress and report_epochs(request.progress, pressed)
        walked = learn(orders, merged_batch.fresh, state, plan, report)
        if options.rows == "move":
            walked += learn_changes(state, request, plan, report)
        ratings.steps.finish()
    new = [np.count_nonzero(side) for side in flags] or (0, 0)
    counts = changes.n_new, changes.n_corrected
    return new_entry(counts, new, options.rows, walked, request.settled, clock.seconds)


def learn_changes(state, request, plan, report):
    """Train the rows of new and corrected ratings on these, at late rates; return ratings times epochs.

    report: see `learn`.
    """
    ratings = device_state.changed_ratings(request.changes, state.ratings, request.ids)
    epochs, session = late_epochs(plan.epochs, plan.annealing), state.session()
    if epochs:
        session.spread = True
        training = begin_training(session, order_ratings(ratings, state.device), state, plan)
        run_epochs(training, plan, epochs, report)
    learned = session.state()
    move_baseline(learned, ratings.take(slice(request.changes.n_new)), state.ratings, plan)
    state.set_parameters(learned if epochs else without_factors(learned))
    return len(ratings) * len(epochs)


def move_baseline(learned, new, stored, plan):
    """Add new Ratings to the damped means that are the baseline biases of known rows in a State.

    stored: DeviceRatings after the merge. A bias that is held is its baseline.
    """
    z, extras = (new.values - stored.scale.mean) / stored.scale.deviation, (learned.user_extras, learned.item_extras)
    rows, counts = (new.users, new.items), stored.counts([len(side) for side in extras])
    for side in (1, 0):
        base, added = extras[side][:, BASE], np.bincount(rows[side], minlength=len(extras[side]))
        before, damping = counts[side] - added, plan.damping[side]
        sums = np.bincount(rows[side], z - extras[1 - side][rows[1 - side], BASE], len(base))
        means = (base * (before + damping) + sums) / (counts[side] + damping)
        base[:] = np.where(before > 0, means, base)
        if plan.held:
            extras[side][:, BIAS] = base


def find_new_neighbors(state, model, merged_batch, flags, all_orders):
    """Find the neighbours of new items; update the hashes, if kept.

    flags: of new users and new items on the host, or (); all_orders: Orders of all ratings, or None.
    """
    for columns, sign in merged_batch.columns if state.hashes else ():
        state.hashes.add(columns, state.ratings.levels.values, sign)
    if state.hashes and flags and flags[1].any():
        state.hashes.find(find_runs(flags[1]), merged_batch.rated, state.neighbors.all)
    elif all_orders is not None:
        neighbors, is_new = np.array(state.ratings.steps.fetch(state.neighbors.all)), flags[1] != 0
        result = model.find_neighbors(all_orders, state.steps, neighbors.shape[1])
        neighbors[is_new] = np.asarray(result)[is_new]
        state.set_neighbors(neighbors)


def report_epochs(progress, pressed):
    """Return the function that reports progress before each epoch and after the last.

    It raises Interrupted on request; pressed: an interrupt.Interrupt.
    """

    def report(turn, turns):
        if pressed.requested is not None:
            raise interrupt.Interrupted(pressed.requested)
        if turn:
            progress("training", turn, turns, {"rmse": None})

    return report


def retrain_model(model, ratings, n_corrected, progress):
    """Return a copy of a fitted model, trained on merged Ratings, with the entry in updates_. Raises as fit does."""
    fitted = copy.copy(model)
    fitted.validation_fraction *= fitted.early_stopping > 0  # which trains on all ratings in the end
    fitted.fit(ratings, progress=progress).validation_fraction = model.validation_fraction
    if len(model.seen_pairs()):  # rows keep their numbers
        fitted._add_pairs("_seen", *model.seen_pairs().T)
    n_new, walked = len(ratings) - len(model._rated.items), len(ratings) * fitted.chosen_["n_epochs"]
    new_rows = count_new_rows(model._rated, ratings)
    log = (n_new, n_corrected), new_rows, RETRAINED, walked, len(ratings), dict(fitted.timings_)
    fitted.updates_ = [*getattr(model, "updates_", []), new_entry(*log)]
    return fitted


def with_bounds_of(scale, before):
    """Return (Scale of restored ratings, its bounds); bounds are those of the Scale before where these are as far."""
    rounding = (before.high - before.low) / LEVELS
    pairs = (before.low, scale.low), (before.high, scale.high)
    low, high = (exact if abs(exact - restored) <= rounding else restored for exact, restored in pairs)
    return scale._replace(low=low, high=high), (low, high)


def replace_model(model, fitted):
    """Replace all attributes of a model by those of a fitted one; cached heads belong to other rows."""
    vars(model).update(vars(fitted))
    for name in vars(model).keys() - vars(fitted).keys():
        delattr(model, name)
    return model


def count_new_rows(history, ratings):
    """Count the users and items of Ratings that have none in a History."""
    before = np.diff(history.indptr), np.bincount(history.items, minlength=1)
    now = (np.bincount(rows, minlength=n) for rows, n in zip((ratings.users, ratings.items), ratings.shape))
    return [int(np.count_nonzero(mine) - np.count_nonzero(theirs)) for mine, theirs in zip(now, before)]


PARTS = 1024  # of the rows whose chunks are counted concurrently
MARK = int(ASIDE).bit_length() - 1


def find_runs(flags):
    """Return the runs of flagged rows, [(first, last + 1)]."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0], flags != 0, [0])).astype(np.int8)))
    return [(int(first), int(last)) for first, last in edges.reshape(-1, 2)]


def order_new_ratings(merged_batch, changes, state):
    """Return the Orders of the ratings of new rows in a device_state.MergedBatch, None without any."""
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
    steps, ordering = state.ratings.steps, state.ratings.ordering
    n, no_places = keys.size, steps.empty(0, np.uint32)
    by_user = make_order(keys, key, (key.user, 1), key.item, no_places, ordering, state.deterministic)
    keys, order, _ = steps.sort_by_bits(keys, 0, key.user.shift, training_data.device_range(n, state.steps))
    by_item = make_order(keys, key, (key.item, 0), key.user, no_places, ordering)
    places = steps.empty(n, np.uint32)
    state.steps.run("turn_around", order, places)
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
    state.steps.run("pack_near", state.neighbors.all, base, state.near, state.offsets)


def learn(orders, flags, state, plan, report):
    """Train flagged rows ((M,), (N,)) on the Orders of their ratings, None without any; return ratings times epochs.

    plan: settings.Settings; report: called before each epoch and after the last with the epochs done and their total;
    None: epochs are queued on a GPU without waiting. Their baseline biases are computed before.
    """
    if orders is None:
        return 0
    base = baseline_of_new_rows(orders, flags, state, plan.damping)
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
    steps, query, scale = state.steps, None, state.ratings.scale
    side = training_data.side_of(orders, state.walk, scale, plan.seed, steps, state.deterministic)
    if state.layout.slots:
        by_user = History(orders.by_user.starts, orders.by_user.others, None, None)
        query = training_data.training_query(by_user, orders, side, state.walk, steps)
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
    return [table_of(row_chunks, workers, settings.seed, task.steps)], workers


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
