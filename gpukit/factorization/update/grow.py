"""Parameters of a model with rows for new users and items: old rows as before, new rows initialized."""

import numpy as np

from gpukit.factorization.model import state as states
from gpukit.factorization.model.layout import BASE, BIAS, SQUARES
from gpukit.factorization.model.state import State, start_factors
from gpukit.factorization.update.plan import FASTER, KEPT
from gpukit.random import key
from gpukit.streams import Keyed

ITEMS_AT_ONCE = 4096  # in each comparison of old and new neighbours


def grow_state(state, fresh, base, neighbors, biases, seed):
    """Return the State of a grown model.

    state: before; fresh: ((M,), (N,)) bool of rows without earlier ratings; base: baseline biases ((M,), (N,)) in z;
    neighbors (N, K) int32; biases: start new biases at the baseline, else at 0. Influences of remaining neighbours are
    kept, others start at 0.
    """
    sides = []
    old = (state.user_factors, state.user_extras), (state.item_factors, state.item_extras)
    for (factors, extras), new, side_base, stream in zip(old, fresh, base, Keyed.FIRST_FACTORS):
        sides += grow_side(factors, extras, new, (side_base, biases), key(seed, stream))
    return State(*sides, carry_influence(state, neighbors), neighbors)


def grow_side(factors, extras, fresh, initial, seed_key):
    """Return (factors, extras) of one side; initial: (baseline biases, True if biases start there)."""
    (base, biased), rows = initial, len(fresh)
    new_factors = np.empty((rows, factors.shape[1]), np.float32)
    start_factors(seed_key, new_factors)
    new_factors[base == 0] = 0  # as in model.state: rows at the mean have no factors
    new_extras = np.zeros((rows, states.KEPT), np.float32)
    new_extras[:, BIAS] = base if biased else 0
    old = np.flatnonzero(~fresh)
    new_factors[old], new_extras[old] = factors[old], extras[old]
    new_extras[:, BASE] = base
    return new_factors, new_extras


def reset_biases(state):
    """Return the State with all biases at the baseline."""
    users, items = (extras.copy() for extras in extras_of(state))
    for extras in (users, items):
        extras[:, BIAS] = extras[:, BASE]
    return state._replace(user_extras=users, item_extras=items)


def carry_influence(state, neighbors):
    """Return the influences of a State, moved with their neighbours, (N, 2, K) float32."""
    count, k = len(state.neighbors), neighbors.shape[1]
    influence = np.zeros((len(neighbors), 2, k), np.float32)
    same = (neighbors[:count] == state.neighbors).all(axis=1)
    influence[:count][same] = state.influence[same]
    changed = np.flatnonzero(~same)
    for first in range(0, len(changed), ITEMS_AT_ONCE):
        rows = changed[first : first + ITEMS_AT_ONCE]
        item, slot, old_slot = np.nonzero(neighbors[rows][:, :, None] == state.neighbors[rows][:, None, :])
        influence[rows[item], :, slot] = state.influence[rows[item], :, old_slot]
    return influence


def shrink_factors(state, facts, share):
    """Return the State before an epoch over the whole history, with smaller factors and higher rates.

    Factors of rows with earlier ratings are multiplied by plan.KEPT; these and influences also by `share`
    (drift.fit_share). A row's sum of squared errors is multiplied by a power of its share of earlier ratings, so that
    grown rows learn faster. facts: run.Facts.
    """
    sides = []
    for factors, extras, new, known in zip(factors_of(state), extras_of(state), facts.fresh, facts.known):
        extras = extras.copy()
        extras[:, SQUARES] = extras[:, SQUARES] * np.where(new, 1, known**FASTER)
        sides += [factors * np.where(new, 1, share * KEPT).astype(np.float32)[:, None], extras]
    shares = np.where(facts.fresh[1], 1, share).astype(np.float32)
    return State(*sides, state.influence * shares[:, None, None], state.neighbors)


def stayed(array, before, fresh):
    """Return rows of an array where fresh, else those of `before`."""
    array = array.copy()
    array[~fresh] = before[~fresh]
    return array


def factors_of(state):
    """Return the factors of both sides."""
    return state.user_factors, state.item_factors


def extras_of(state):
    """Return the extras of both sides."""
    return state.user_extras, state.item_extras
