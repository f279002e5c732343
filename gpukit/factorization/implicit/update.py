"""Online updates of a fitted model with new clicks.

Least squares: rows with new clicks and new rows are solved for exactly given the other side: the items, the users, and
both again. Losses with sampled negatives: a few late epochs over all clicks. Weights between items are solved for anew,
or by a correction of the inverse of the last update.
"""

import copy

import numpy as np

from gpukit import device as devices
from gpukit.device import cpu
from gpukit.device.engine import engine
from gpukit.factorization.arrays import UNSCALED, places_in_rows
from gpukit.factorization.constants import RULES
from gpukit.factorization.implicit.feedback import later_clicks
from gpukit.factorization.implicit.prepared import PreparedClicks, Resolution, add_item_weights, weigh_clicks
from gpukit.factorization.model import state as states
from gpukit.factorization.model.layout import pair_keys
from gpukit.factorization.online import device_state
from gpukit.factorization.online.inputs import empty_entry, in_rows, new_entry, settings_of_model
from gpukit.factorization.online.run import read_changes
from gpukit.factorization.prepare.formulas import ASIDE
from gpukit.factorization.solvers.ials import fold_in
from gpukit.ratings.check import are_pairs
from gpukit.ratings.orders.order import order_ratings
from gpukit.timing import Clock

NO_ROWS = np.empty((2, 0), np.int64)
INVERSE = "inverse"  # of the item weights, kept with what is prepared for a fitted model


def weights_of(model, ratings):
    """Return Ratings as a model of clicks learns them.

    Values are the weights. Ratings that are not clicks are dropped.
    """
    return weigh_clicks(later_clicks(model, ratings), settings_of_model(model, 0))


def update_clicks(model, clicks, options, progress, low=None):
    """Update a fitted model of clicks with Ratings of `weights_of`, each pair once.

    options: online.inputs.Options; low: Ratings below positive_from, which are clicks no more, or counts, which add to
    earlier ones, or None. Their users and items get rows, as in fit. Raises DataError, DeviceMemoryError; the model is
    then unchanged.
    """
    device, clock, log = devices.resolve(model.device), Clock(), getattr(model, "updates_", [])
    with devices.translate_memory_errors(device, "Updating"):
        progress("merging", 0, 1, {})
        with clock("merge"):
            rest, rows = (model, None) if low is None else with_rows_of(model, low)
            rest, changed = (rest, NO_ROWS) if rows is None or are_pairs(low) else without_clicks(rest, rows)
            n_new, n_corrected = 0, len(changed[0])
            stored, ids, changes = read_changes(rest, clicks, options, cpu(), keep_unchanged=True)
            shape = tuple(map(len, ids))
            known = len(model.user_ids_), len(model.item_ids_)
            if not (len(changes) or n_corrected) and shape == known:
                model.updates_ = [*log, empty_entry(model, options.rows)]
                return
            before = stored.counts(shape)
            if len(changes):
                device_state.merge_changes(changes, stored)
                changed = np.concatenate((changed, device_state.changed_rows(changes, stored.steps)), axis=1)
                n_new = changes.n_new
                n_corrected += np.count_nonzero(changes.keys[n_new:] < ASIDE)  # others are clicks again
            clicks = stored.to_ratings(*ids)
        fresh = moving = tuple(
            (old == 0) & ((now > 0) | (np.arange(len(now)) >= n_known))
            for old, now, n_known in zip(before, stored.counts(shape), known)
        )
        if options.rows != "frozen":
            moving = tuple(np.isin(np.arange(n), rows) for n, rows in zip(shape, changed))
        with clock("orders"):
            orders = order_ratings(clicks, device)
        plan = settings_of_model(model, len(clicks))
        resolution = Resolution(model, changed[0], vars(model).get("_prepared", {}).get(INVERSE))
        with clock("training"):
            least_squares = solve_rows if plan.solver == "ials" else update_item_weights
            learn = update_both if plan.mixed else train_epochs if plan.solver == "sampled" else least_squares
            prepared = PreparedClicks(model, clicks, device, orders)
            state, count = learn(model._state, prepared, plan, (fresh, moving), options)
            state = add_item_weights(state, clicks, plan, device, resolution.solve)
    counts = (n_new, n_corrected), [side.sum() for side in fresh]
    entry = new_entry(*counts, options.rows, count, len(clicks), clock.seconds)
    model.device_, model.updates_ = str(device), [*log, entry]
    model.set_fitted(state, stored.download(), UNSCALED, *ids)
    model._prepare(INVERSE, lambda: resolution.inverse)


def with_rows_of(model, ratings):
    """Return (a copy of a model of clicks with empty rows for the new ids of Ratings, inputs.NewRatings)."""
    grown, history = copy.copy(model), model._rated
    steps = engine(cpu(), "gpukit.factorization.online")
    rows = in_rows(ratings, (model.user_ids_, model.item_ids_), steps)
    grown.user_ids_, grown.item_ids_ = rows.user_ids, rows.item_ids
    n_new = len(rows.user_ids) - len(model.user_ids_)
    grown._history = history._replace(indptr=np.pad(history.indptr, (0, n_new), "edge"))
    return grown, rows


def without_clicks(model, low):
    """Return (a copy of a model of clicks without those on the pairs of Ratings, rows (2, n) of the removed ones).

    low: inputs.NewRatings in the rows of the model.
    """
    rest, history = copy.copy(model), model._rated
    users = np.repeat(np.arange(len(history.indptr) - 1), np.diff(history.indptr))
    keep = ~np.isin(pair_keys(users, history.items), pair_keys(low.users, low.items))
    starts = np.append(0, np.cumsum(keep))[history.indptr]
    rest._history = history._replace(indptr=starts, items=history.items[keep], codes=history.codes[keep])
    return rest, np.stack((users[~keep], history.items[~keep]))


def update_item_weights(state, prepared, plan, which, _):
    """Return (the State of a model of item weights alone, number of clicks read); arguments as `solve_rows`."""
    grown = states.state_of_factors(*(np.zeros((rows, 1), np.float32) for rows in prepared.clicks.shape))
    return states.with_popularity(grown, prepared.counts[1], plan.popular), len(prepared.clicks)


def update_both(state, prepared, plan, which, rows):
    """Update two models in one; return as `solve_rows`, with the same arguments."""
    one, other = states.split_states(state, plan)
    partner = states.partner(prepared.estimator, plan, len(prepared.clicks), prepared.clicks.shape)
    one, read = solve_rows(one, prepared, plan._replace(mixed=0.0), which, rows)
    partner = partner._replace(n_factors=other.user_factors.shape[1])
    other, count = train_epochs(other, prepared, partner, which, rows)
    return states.combine_states(one, other, plan.mixed), read + count


def solve_rows(state, prepared, plan, which, rows):
    """Return (the State with rows solved for, number of clicks read).

    which: ((M,), (N,)) bool of new rows, and of rows that may change.
    """
    (fresh, moving), clicks = which, prepared.clicks
    users, items = (with_rows(old, len(new)) for old, new in zip(state[:4:2], fresh))
    if plan.popular < 1:
        users /= np.float32(1.0 - plan.popular)
    tables, count = (clicks.csr(), clicks.csc()), 0
    count += solve(items, users, tables[1], fresh[1], plan)
    for _ in range(RULES.solve_rounds):
        count += solve(users, items, tables[0], moving[0], plan)
        count += solve(items, users, tables[1], moving[1], plan)
    grown = states.with_popularity(states.state_of_factors(users, items), prepared.counts[1], plan.popular)
    return restore_rows(grown, state, fresh) if rows.rows == "frozen" else grown, count


def solve(factors, other, table, rows, plan):
    """Solve for rows (a mask) of `factors` with fixed `other`.

    table: (indptr, indices, weights) of the clicks by row. Returns the number of clicks read.
    """
    which = np.flatnonzero(rows)
    indptr, indices, weights = table
    counts = np.diff(indptr)[which]
    begins = np.concatenate(([0], np.cumsum(counts)))
    places = places_in_rows(indptr[which], counts)
    factors[which] = fold_in(other, begins, indices[places], weights[places], plan)
    return int(begins[-1])


def with_rows(table, rows):
    """Return a copy of a table, padded with rows of 0."""
    return np.pad(table, ((0, rows - len(table)), *((0, 0),) * (table.ndim - 1)))


def restore_rows(state, before, fresh):
    """Return the State with the earlier rows of the State before; fresh: ((M,), (N,)) bool of new rows."""
    rows = {}
    for name, own, old, new in zip(state._fields, state, before, (fresh[0],) * 2 + (fresh[1],) * 4):
        is_new = new.reshape(-1, *(1,) * (own.ndim - 1))
        rows[name] = np.where(is_new, own, with_rows(old, len(own)))
    return state._replace(**rows)


def train_epochs(state, prepared, plan, which, rows):
    """Return (the State after some late epochs, number of clicks processed).

    Arguments as `solve_rows`; epochs process all clicks.
    """
    fresh, _ = which
    neighbors = prepared.neighbors(plan)
    begin = restore_rows(states.start_state(prepared.counts, plan.n_factors, neighbors, plan.seed), state, fresh)
    begin = begin._replace(influence=carry_influence(state, neighbors), neighbors=neighbors)
    session, training = prepared.begin(plan, begin)
    epochs = range(max(0, plan.epochs - RULES.late_click_epochs), max(plan.epochs, 1))
    for epoch in epochs:
        training.epoch(epoch)
    trained = session.state()
    trained = restore_rows(trained, state, fresh) if rows.rows == "frozen" else trained
    return trained, len(epochs) * len(prepared.clicks)


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
