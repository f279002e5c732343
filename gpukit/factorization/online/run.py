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
from gpukit.factorization.model.layout import BASE, BIAS, SQUARES, major_first
from gpukit.factorization.model.state import State, rows_of_side, without_factors
from gpukit.factorization.online import device_state, inputs
from gpukit.factorization.online.device_state import DeviceRatings, DeviceState
from gpukit.factorization.online.inputs import (
    count_when_chosen,
    empty_entry,
    has_grown,
    last_full_count,
    new_entry,
    plan_replay,
    settings_of_model,
)
from gpukit.factorization.prepare import training_data
from gpukit.factorization.prepare.formulas import ASIDE, FirstRows
from gpukit.factorization.settings import RETRAINED
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
    device_state.Changes; options: inputs.Options; settled: number of ratings at the last epoch over the whole history;
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
        full_count, entry = last_full_count(log, len(stored)), None
        if not is_due(model, len(changes), options):
            state = DeviceState(model, device, stored)
            entry = update(state, Update(model, ids, changes, options, full_count, clock, progress))
        if entry is not None:
            model.device_, model.updates_ = str(device), [*log, entry]
            model.set_fitted(state.parameters(), stored.download(), stored.scale, *ids)
            return
        device_state.merge_changes(changes, stored)
        ratings, _ = device_state.merged_ratings(changes, stored, ids)
    state = stored = None  # frees memory of the device
    replace_model(model, retrain_model(model, ratings, changes.n_corrected, progress))


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
    """Update a DeviceState by an Update; return the entry of `updates_`.

    Returns None, with no change of the state, if the model should be retrained (py).
    """
    changes, ratings, clock, options = request.changes, state.ratings, request.clock, request.options
    n_before, moves = len(ratings), options.rows == "move"
    n_now = n_before + changes.n_new
    plan = settings_of_model(request.model, n_now)
    replay = plan_replay(options.replay, n_before, n_now, request.settled, plan)
    before = ratings.counts(changes.shape) if moves else None
    share = find_share(state, changes, before) if moves and replay.is_whole else 1.0
    if share < RULES.least_share and options.may_retrain:
        return None
    with clock("merge"):
        state.grow(changes.shape)
        merged_batch = device_state.merge_changes(changes, ratings)
        flags = [ratings.steps.fetch(side) for side in merged_batch.fresh] if merged_batch.fresh else []
    with clock("orders"):
        searches = bool(flags) and flags[1].any() and state.layout.slots > 0 and state.hashes is None
        whole = device_state.merged_ratings(changes, ratings, request.ids) if moves or searches else None
        orders = order_new_ratings(merged_batch, changes, state)
        all_orders = whole and order_ratings(whole[0], state.device)
    with clock("neighbours"):
        counts = before, ratings.counts(changes.shape) if moves else None
        if moves:
            move_baseline(state, request, all_orders, counts, replay, plan)
        else:
            find_new_neighbors(state, request.model, merged_batch, flags, all_orders)
    with clock("training"), interrupt.defer() as pressed:
        report = request.progress and report_epochs(request.progress, pressed)
        walked = learn(orders, merged_batch.fresh, state, plan, report, not moves)
        if moves:
            walked += learn_all(whole, counts, state, plan, report, replay, max(share, RULES.least_share))
        ratings.steps.finish()
    new = [np.count_nonzero(side) for side in flags] or (0, 0)
    full_count = n_now if moves and replay.is_whole else request.settled
    counts = changes.n_new, changes.n_corrected
    return new_entry(counts, new, options.rows, walked, full_count, clock.seconds)


def find_share(state, changes, before):
    """Return fit_share of Changes in rows with earlier ratings; before: ratings of each row ((M,), (N,))."""
    users, items = device_state.changed_rows(changes, state.ratings.steps)
    known = np.flatnonzero((before[0][users] > 0) & (before[1][items] > 0))
    pairs = users[known].astype(np.int32), items[known].astype(np.int32)
    return fit_share(state, state.parameters(), pairs, device_state.changed_values(changes, state.ratings)[known])


def find_new_neighbors(state, model, merged_batch, flags, all_orders):
    """Find the neighbours of new items; update the hashes, if kept.

    flags: of new users and new items on the host, or (); all_orders: Orders of all ratings, or None.
    """
    for columns, sign in merged_batch.columns if state.hashes else ():
        state.hashes.add(columns, state.ratings.levels.values, sign)
    if state.hashes and flags and flags[1].any():
        state.hashes.find(find_runs(flags[1]), merged_batch.rated, state.neighbors.all)
    elif all_orders is not None:
        known = np.array(state.ratings.steps.fetch(state.neighbors.all))
        state.set_neighbors(search_neighbors(state, model, all_orders, flags[1] != 0, known))


def search_neighbors(state, model, all_orders, changed, known):
    """Return the neighbours (N, K) int32 on the host: searched for changed items (N,) bool, else as in known."""
    if known.shape[1] and changed.any():
        result = model.find_neighbors(all_orders, state.steps, known.shape[1])
        known[changed] = np.asarray(result)[changed]
    return known


def move_baseline(state, request, all_orders, counts, replay, plan):
    """Recompute baseline biases and neighbours from the Orders of all ratings."""
    (before, now), preparing, parameters = counts, state.steps.preparing, state.parameters()
    base = training_data.baseline_of(all_orders, state.ratings.scale, preparing, plan.damping, trend=plan.trend)
    base = tuple(np.asarray(preparing.fetch(side), np.float32) for side in base)
    touched = np.zeros(len(now[1]), bool)
    touched[device_state.changed_rows(request.changes, state.ratings.steps)[1]] = True
    changed = find_changed_items(before[1], now[1], touched, replay, request.options)
    neighbors = search_neighbors(state, request.model, all_orders, changed, parameters.neighbors.copy())
    set_baseline(state, parameters, base, neighbors, plan.held)


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


def is_due(model, n_changed, options):
    """Return True if the number of new and corrected ratings and inputs.Options call for retraining.

    The settings of a training (level, damping, factors, epochs, regularization) are chosen for one number of ratings
    and stay with the model. FilmTrust in 20 parts, with settings chosen on the first 1,600 ratings, ended 0.026 above a
    training on all 32,000. Retraining whenever the ratings have doubled costs at most about twice the last training.

    With few ratings a choice holds for less growth: on a quarter more ratings, damped biases may no longer win and
    neighbours may start to help. Such a training takes about a second, including the choice of settings. It replaces
    the epochs over the whole history, which would take a tenth of that.
    """
    growth = 2.0  # growth since the settings were chosen that calls for retraining, above early_retraining ratings
    if not options.may_retrain:
        return False
    known = len(model._rated.items)
    now, then = known + n_changed, count_when_chosen(getattr(model, "updates_", []), known)
    return has_grown(then, now) if now <= RULES.early_retraining else now >= growth * then


def retrain_model(model, ratings, n_corrected, progress):
    """Return a copy of a fitted model, trained on merged Ratings, with the entry in updates_. Raises as fit does."""
    fitted = copy.copy(model).fit(ratings, progress=progress)
    if len(model.seen_pairs()):  # rows keep their numbers
        fitted._add_pairs("_seen", *model.seen_pairs().T)
    n_new, walked = len(ratings) - len(model._rated.items), len(ratings) * fitted.chosen_["n_epochs"]
    new_rows = count_new_rows(model._rated, ratings)
    log = (n_new, n_corrected), new_rows, RETRAINED, walked, len(ratings), dict(fitted.timings_)
    fitted.updates_ = [*getattr(model, "updates_", []), new_entry(*log)]
    return fitted


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


def fit_share(state, parameters, pairs, values):
    """Return the slope, from 0 to 1, of z - biases over the other terms that a DeviceState predicts.

    parameters: its State; pairs: (users, items) (n,) int32, rows with earlier ratings; values (n,) float32: new ratings
    of these pairs, not in the history yet.

    Factors of few ratings overfit: on later ratings the model is more accurate if the contribution of factors and
    influences is multiplied by a share below 1, this slope. The new ratings may come from few users with an unusual
    taste. All rows shrink by the share, and the few epochs of an update do not recover the loss. A low share therefore
    calls for retraining.
    """
    prior_variance = 0.25  # prior variance of the slope around 1
    users, items = pairs
    scale, biases = state.ratings.scale, parameters.user_extras[users, BIAS] + parameters.item_extras[items, BIAS]
    added = predict_pairs(state, pairs).astype(np.float64) - biases
    residual = (values - scale.mean) / scale.deviation - biases
    noise = float(np.mean((residual - added) ** 2)) if len(users) else 1.0
    prior = noise / prior_variance
    return float(np.clip((added @ residual + prior) / (added @ added + prior), 0.0, 1.0))


def predict_pairs(state, pairs):
    """Predict pairs of rows by a DeviceState: (n,) float32 on the host, in z."""
    session = state.session()
    return session.predict(session.ask(*pairs)) if len(pairs[0]) else np.empty(0, np.float32)


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
    row ((M,), (N,)), before and after; report: see `learn`; replay: inputs.Replay; share: of fit_share.
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
