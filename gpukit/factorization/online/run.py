"""One update of a model on its device: the computation of `partial_fit` and of `Live.add`."""

import copy
from typing import NamedTuple

import numpy as np

from gpukit import device as devices
from gpukit import interrupt
from gpukit.factorization.constants import RULES
from gpukit.factorization.model.layout import BIAS
from gpukit.factorization.online import inputs, learning, merge, plan
from gpukit.factorization.online.device_state import DeviceRatings, DeviceState
from gpukit.factorization.online.plan import (
    empty_entry,
    has_grown,
    last_full_count,
    new_entry,
    plan_replay,
    settings_of_model,
)
from gpukit.factorization.prepare import training_data
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
        merge.merge_changes(changes, stored)
        ratings, _ = merge.merged_ratings(changes, stored, ids)
    state = stored = None  # frees memory of the device
    replace_model(model, retrain_model(model, ratings, changes.n_corrected, progress))


def read_changes(model, ratings, options, device, keep_unchanged=False):
    """Return (DeviceRatings, (user ids, item ids), merge.Changes or ()) of a fitted model by new Ratings."""
    ids = model.user_ids_, model.item_ids_
    stored = DeviceRatings(model._rated, model._scale, len(ids[1]), device)
    if not len(ratings):
        return stored, ids, ()
    batch = inputs.in_rows(ratings, ids, stored.steps)
    new = merge.sort_batch(batch, stored)
    return stored, batch[3:], merge.find_changes(batch, new, stored, options.duplicates, keep_unchanged)


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
        merged_batch = merge.merge_changes(changes, ratings)
        flags = [ratings.steps.fetch(side) for side in merged_batch.fresh] if merged_batch.fresh else []
    with clock("orders"):
        searches = bool(flags) and flags[1].any() and state.layout.slots > 0 and state.hashes is None
        whole = merge.merged_ratings(changes, ratings, request.ids) if moves or searches else None
        orders = learning.order_new_ratings(merged_batch, changes, state)
        all_orders = whole and order_ratings(whole[0], state.device)
    with clock("neighbours"):
        counts = before, ratings.counts(changes.shape) if moves else None
        if moves:
            move_baseline(state, request, all_orders, counts, replay, plan)
        else:
            find_new_neighbors(state, request.model, merged_batch, flags, all_orders)
    with clock("training"), interrupt.defer() as pressed:
        report = request.progress and report_epochs(request.progress, pressed)
        walked = learning.learn(orders, merged_batch.fresh, state, plan, report, not moves)
        if moves:
            walked += learning.learn_all(whole, counts, state, plan, report, replay, max(share, RULES.least_share))
        ratings.steps.finish()
    new = [np.count_nonzero(side) for side in flags] or (0, 0)
    full_count = n_now if moves and replay.is_whole else request.settled
    counts = changes.n_new, changes.n_corrected
    return new_entry(counts, new, options.rows, walked, full_count, clock.seconds)


def find_share(state, changes, before):
    """Return fit_share of Changes in rows with earlier ratings; before: ratings of each row ((M,), (N,))."""
    users, items = merge.changed_rows(changes, state.ratings.steps)
    known = np.flatnonzero((before[0][users] > 0) & (before[1][items] > 0))
    pairs = users[known].astype(np.int32), items[known].astype(np.int32)
    return fit_share(state, state.parameters(), pairs, merge.changed_values(changes, state.ratings)[known])


def find_new_neighbors(state, model, merged_batch, flags, all_orders):
    """Find the neighbours of new items; update the hashes, if kept.

    flags: of new users and new items on the host, or (); all_orders: Orders of all ratings, or None.
    """
    for columns, sign in merged_batch.columns if state.hashes else ():
        state.hashes.add(columns, state.ratings.levels.values, sign)
    if state.hashes and flags and flags[1].any():
        state.hashes.find(learning.find_runs(flags[1]), merged_batch.rated, state.neighbors.all)
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
    touched[merge.changed_rows(request.changes, state.ratings.steps)[1]] = True
    changed = learning.find_changed_items(before[1], now[1], touched, replay, request.options)
    neighbors = search_neighbors(state, request.model, all_orders, changed, parameters.neighbors.copy())
    learning.set_baseline(state, parameters, base, neighbors, plan.held)


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
    """Return True if the number of new and corrected ratings and plan.Options call for retraining.

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
    now, then = known + n_changed, plan.count_when_chosen(getattr(model, "updates_", []), known)
    return has_grown(then, now) if now <= RULES.early_retraining else now >= growth * then


def retrain_model(model, ratings, n_corrected, progress):
    """Return a copy of a fitted model, trained on merged Ratings, with the entry in updates_. Raises as fit does."""
    fitted = copy.copy(model).fit(ratings, progress=progress)
    if len(model.seen_pairs()):  # rows keep their numbers
        fitted._add_pairs("_seen", *model.seen_pairs().T)
    n_new, walked = len(ratings) - len(model._rated.items), len(ratings) * fitted.chosen_["n_epochs"]
    new_rows = count_new_rows(model._rated, ratings)
    log = (n_new, n_corrected), new_rows, plan.RETRAINED, walked, len(ratings), dict(fitted.timings_)
    fitted.updates_ = [*getattr(model, "updates_", []), plan.new_entry(*log)]
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
