"""A model's numbers with rows for new users and items: the old ones as they were, the new ones as training begins."""

import numpy as np

from gpukit.factorization.model import state as states
from gpukit.factorization.model.layout import BASE, BIAS, SQUARES
from gpukit.factorization.model.state import State, start_factors
from gpukit.factorization.update.plan import FASTER, KEPT
from gpukit.random import key
from gpukit.streams import Keyed

ITEMS_AT_ONCE = 4096  # whose old and new neighbours are compared


def grown_state(state, fresh, base, neighbors, biases, seed):
    """The State of a grown model.

    state: before; fresh: ((M,), (N,)) bool of the rows that had no ratings so far; base: baseline biases ((M,), (N,))
    in z; neighbors (N, K) int32; biases: whether new ones begin there (or at 0). Influences of neighbours that stay go
    with them, those of others begin at 0.
    """
    sides = []
    old = (state.user_factors, state.user_extras), (state.item_factors, state.item_extras)
    for (factors, extras), new, own, stream in zip(old, fresh, base, Keyed.FIRST_FACTORS):
        sides += grown_side(factors, extras, new, (own, biases), key(seed, stream))
    return State(*sides, carried(state, neighbors), neighbors)


def grown_side(factors, extras, fresh, begin, seed_key):
    """(factors, extras) of one side; begin: (baseline biases, whether biases start there)."""
    (base, biased), rows = begin, len(fresh)
    own = np.empty((rows, factors.shape[1]), np.float32)
    start_factors(seed_key, own)
    own[base == 0] = 0  # as in model.state: what does not differ from the mean stays there
    numbers = np.zeros((rows, states.KEPT), np.float32)
    numbers[:, BIAS] = base if biased else 0
    stay = np.flatnonzero(~fresh)
    own[stay], numbers[stay] = factors[stay], extras[stay]
    numbers[:, BASE] = base
    return own, numbers


def at_baseline(state):
    """The State of a model whose biases are held at the baseline."""
    users, items = (extras.copy() for extras in extras_of(state))
    for extras in (users, items):
        extras[:, BIAS] = extras[:, BASE]
    return state._replace(user_extras=users, item_extras=items)


def carried(state, neighbors):
    """(N, 2, K) float32: the influences of a State, each with its neighbour."""
    count, k = len(state.neighbors), neighbors.shape[1]
    influence = np.zeros((len(neighbors), 2, k), np.float32)
    same = (neighbors[:count] == state.neighbors).all(axis=1)
    influence[:count][same] = state.influence[same]
    changed = np.flatnonzero(~same)
    for first in range(0, len(changed), ITEMS_AT_ONCE):
        rows = changed[first : first + ITEMS_AT_ONCE]
        item, slot, was = np.nonzero(neighbors[rows][:, :, None] == state.neighbors[rows][:, None, :])
        influence[rows[item], :, slot] = state.influence[rows[item], :, was]
    return influence


def forgotten(state, facts, share):
    """The State before the whole history is walked again: factors of rows that had ratings before are times plan.KEPT,
    these and influences times `share`; the more a row has grown, the faster it may learn: its sum of squared errors is
    times a power of its known share.

    facts: run.Facts; share: what drift.share tells.
    """
    sides = []
    for factors, extras, new, known in zip(factors_of(state), extras_of(state), facts.fresh, facts.known):
        less = np.where(new, 1, known**FASTER)
        extras = with_squares(extras, extras[:, SQUARES] * less, slice(None))
        sides += [factors * np.where(new, 1, share * KEPT).astype(np.float32)[:, None], extras]
    kept = np.where(facts.fresh[1], 1, share).astype(np.float32)
    return State(*sides, state.influence * kept[:, None, None], state.neighbors)


def stayed(array, before, fresh):
    """Rows of an array where fresh, else those of `before`."""
    array = array.copy()
    array[~fresh] = before[~fresh]
    return array


def factors_of(state):
    """The factors of both sides."""
    return state.user_factors, state.item_factors


def extras_of(state):
    """The extras of both sides."""
    return state.user_extras, state.item_extras


def with_squares(extras, squares, where):
    """extras with other sums of squared errors in some rows."""
    extras = extras.copy()
    extras[where, SQUARES] = squares
    return extras
