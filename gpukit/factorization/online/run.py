"""One update of a model on its device: the computation of `partial_fit` and of `Live.add`."""

from typing import NamedTuple

import numpy as np

from gpukit import device as devices
from gpukit import interrupt
from gpukit.factorization.online import all_rows, inputs, merge, new_rows, retrain
from gpukit.factorization.online.device_state import DeviceRatings, DeviceState
from gpukit.factorization.online.plan import empty_entry, last_full_count, new_entry, plan_replay
from gpukit.factorization.prepare import training_data
from gpukit.factorization.settings import of_model
from gpukit.ratings.orders.order import order_ratings
from gpukit.timing import Clock


class Update(NamedTuple):
    """Inputs of one update, which is then computed by `update`.

    model: the fitted estimator, whose settings are used; ids: (user ids, item ids) of the grown model; changes:
    merge.Changes; options: plan.Options; settled: number of ratings at the last epoch over the whole history; clock:
    timing.Clock; progress: see fit; None: epochs are queued on a GPU without waiting.
    """

    model: object
    ids: tuple
    changes: merge.Changes
    options: object
    settled: int
    clock: object
    progress: object = None


def update_model(model, ratings, options, progress):
    """Update a fitted model of ratings with validated Ratings, each pair once; retrain it if it is due.

    options: plan.Options. Raises DataError, DeviceMemoryError; the model is then unchanged.
    """
    device, clock, log = devices.resolve(model.device), Clock(), getattr(model, "updates_", [])
    with devices.reported(device, "Updating"):
        progress("merging", 0, 1, {})
        with clock("merge"):
            stored, ids, changes = read_changes(model, ratings, options, device)
        if not len(changes):
            model.updates_ = [*log, empty_entry(model, options.rows)]
            return
        settled, entry = last_full_count(log, len(stored)), None
        if not retrain.is_due(model, len(changes), options):
            state = DeviceState(model, device, stored)
            entry = update(state, Update(model, ids, changes, options, settled, clock, progress))
        if entry is not None:
            model.device_, model.updates_ = str(device), [*log, entry]
            model.set_fitted(state.parameters(), stored.download(), stored.scale, *ids)
            return
        merge.merge_changes(changes, stored)
        ratings, _ = merge.merged_ratings(changes, stored, ids)
    state = stored = None  # frees memory of the device
    retrain.replace_model(model, retrain.retrain_model(model, ratings, changes.n_corrected, progress))


def read_changes(model, ratings, options, device, keep_unchanged=False):
    """Return (DeviceRatings, (user ids, item ids), merge.Changes or ()) of a fitted model by new Ratings."""
    stored, ids = (
        DeviceRatings(model._rated, model._scale, len(model.item_ids_), device),
        (model.user_ids_, model.item_ids_),
    )
    if not len(ratings):
        return stored, ids, ()
    batch = inputs.in_rows(ratings, ids, stored.steps)
    new = merge.sort_batch(batch, stored)
    return stored, batch[3:], merge.find_changes(batch, new, stored, options.duplicates, keep_unchanged)


def update(state, request):
    """Update a DeviceState by an Update; return the entry of `updates_`.

    Returns None, with no change of the state, if the model should be retrained (retrain.py).
    """
    changes, ratings, clock, options = request.changes, state.ratings, request.clock, request.options
    n_before, moves = len(ratings), options.rows == "move"
    n_now = n_before + changes.n_new
    plan = of_model(request.model, n_now)
    replay = plan_replay(options.replay, n_before, n_now, request.settled, plan)
    before = ratings.counts(changes.shape) if moves else None
    share = find_share(state, changes, before) if moves and replay.is_whole else 1.0
    if share < retrain.LEAST_SHARE and options.may_retrain:
        return None
    with clock("merge"):
        state.grow(changes.shape)
        merged = merge.merge_changes(changes, ratings)
        flags = [ratings.steps.fetch(side) for side in merged.fresh] if merged.fresh else []
    with clock("orders"):
        searches = bool(flags) and flags[1].any() and state.layout.slots > 0 and state.hashes is None
        reads_all = moves or searches or changes.exact is not None
        whole = merge.merged_ratings(changes, ratings, request.ids) if reads_all else None
        orders = new_rows.order_new_ratings(merged, changes, state, whole)
        all_orders = order_ratings(whole[0], state.device) if moves or searches else None
    with clock("neighbours"):
        counts = before, ratings.counts(changes.shape) if moves else None
        if moves:
            move_baseline(state, request, all_orders, counts, replay, plan)
        else:
            find_new_neighbors(state, request.model, merged, flags, all_orders)
    with clock("training"), interrupt.deferred() as pressed:
        report = request.progress and report_epochs(request.progress, pressed)
        walked = new_rows.learn(orders, merged.fresh, state, plan, report, not moves)
        if moves:
            walked += all_rows.learn(whole, counts, state, plan, report, replay, max(share, retrain.LEAST_SHARE))
        ratings.steps.finish()
    new = [np.count_nonzero(side) for side in flags] or (0, 0)
    settled = n_now if moves and replay.is_whole else request.settled
    counts = changes.n_new, changes.n_corrected
    return new_entry(counts, new, options.rows, walked, settled, clock.seconds)


def find_share(state, changes, before):
    """Return retrain.fit_share of Changes in rows with earlier ratings; before: ratings of each row ((M,), (N,))."""
    users, items = merge.changed_rows(changes, state.ratings.steps)
    known = np.flatnonzero((before[0][users] > 0) & (before[1][items] > 0))
    pairs = users[known].astype(np.int32), items[known].astype(np.int32)
    return retrain.fit_share(state, state.parameters(), pairs, merge.changed_values(changes, state.ratings)[known])


def find_new_neighbors(state, model, merged, flags, all_orders):
    """Find the neighbours of new items; update the hashes, if kept.

    flags: of new users and new items on the host, or (); all_orders: Orders of all ratings, or None.
    """
    for columns, sign in merged.columns if state.hashes else ():
        state.hashes.add(columns, state.ratings.levels.values, sign)
    if state.hashes and flags and flags[1].any():
        state.hashes.find(new_rows.find_runs(flags[1]), merged.rated, state.neighbors.all)
    elif all_orders is not None:
        known = np.array(state.ratings.steps.fetch(state.neighbors.all))
        state.set_neighbors(search_neighbors(state, model, all_orders, flags[1] != 0, known))


def search_neighbors(state, model, all_orders, changed, known):
    """Return the neighbours (N, K) int32 on the host: searched for changed items (N,) bool, else as in known."""
    if known.shape[1] and changed.any():
        found = model.find_neighbors(all_orders, state.steps, known.shape[1])
        known[changed] = np.asarray(found)[changed]
    return known


def move_baseline(state, request, all_orders, counts, replay, plan):
    """Recompute baseline biases and neighbours from the Orders of all ratings."""
    (before, now), preparing, parameters = counts, state.steps.preparing, state.parameters()
    base = training_data.baseline_of(all_orders, state.ratings.scale, preparing, plan.damping, trend=plan.trend)
    base = tuple(np.asarray(preparing.fetch(side), np.float32) for side in base)
    touched = np.zeros(len(now[1]), bool)
    touched[merge.changed_rows(request.changes, state.ratings.steps)[1]] = True
    changed = all_rows.find_changed_items(before[1], now[1], touched, replay, request.options)
    neighbors = search_neighbors(state, request.model, all_orders, changed, parameters.neighbors.copy())
    all_rows.set_baseline(state, parameters, base, neighbors, plan.held)


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
