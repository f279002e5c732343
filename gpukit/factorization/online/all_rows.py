"""Update of all rows, which goes beyond Algorithm 4: rows with earlier ratings move, too."""

import numpy as np

from gpukit.factorization.constants import RULES
from gpukit.factorization.model.layout import BASE, BIAS, SQUARES
from gpukit.factorization.model.state import State, without_factors
from gpukit.factorization.online.new_rows import begin_training, run_epochs
from gpukit.ratings.orders.order import order_ratings


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


def set_baseline(state, parameters, base, neighbors, held):
    """Set the baseline biases ((M,), (N,)) and the neighbours (N, K) of a DeviceState.

    parameters: its State; held: the biases are set to the baseline, too. Influences move with their neighbours.
    """
    sides = []
    for factors, extras, side_base in zip(factors_of(parameters), extras_of(parameters), base):
        extras[:, BASE] = side_base
        extras[:, BIAS] = side_base if held else extras[:, BIAS]
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


def learn(merged, counts, state, plan, report, replay, share):
    """Train all rows of a DeviceState; return ratings times epochs.

    merged: (Ratings, (n,) bool of the changed ones); a share of the unchanged ones is replayed; counts: ratings of each
    row ((M,), (N,)), before and after; report: see new_rows.learn; replay: plan.Replay; share: of run.fit_share.
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


def restore_rows(array, before, fresh):
    """Return rows of an array where fresh, else those of `before`."""
    array = array.copy()
    array[~fresh] = before[~fresh]
    return array
