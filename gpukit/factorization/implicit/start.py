"""State at the start of training on clicks."""

import numpy as np

from gpukit.factorization.arrays import Scale
from gpukit.factorization.model.layout import BIAS
from gpukit.factorization.model.state import KEPT, State, start_factors
from gpukit.factorization.prepare.formulas import SPREAD
from gpukit.random import key
from gpukit.streams import Keyed

SCALE = Scale(0.0, 1.0, float("-inf"), float("inf"))  # clicks are not scaled, and scores have no bounds


def start_state(counts, n_factors, neighbors, seed):
    """Return the State at the start of training.

    counts: clicks of each user (M,) and of each item (N,); neighbors (N, K). Rows without clicks have factors of 0, all
    baseline biases are 0.
    """
    start = 0.1  # deviation of a first row's length: 0.1 / sqrt(F) a number (Rendle et al. 2021)
    sides = []
    for clicks, stream in zip(counts, Keyed.FIRST_FACTORS):
        factors = np.empty((len(clicks), n_factors), np.float32)
        start_factors(key(seed, stream), factors)
        factors *= np.float32(start / n_factors**0.5 / SPREAD)
        factors[clicks == 0] = 0
        sides += [factors, np.zeros((len(clicks), KEPT), np.float32)]
    return State(*sides, np.zeros((len(neighbors), 2, neighbors.shape[1]), np.float32), neighbors)


def set_popularity_bias(state, clicks, share=0.0):
    """Return the State with popularity as the items' bias.

    clicks (N,): of each item. By default the bias is so small that it only breaks ties and ranks items for unknown
    users; share: larger weight of popularity.
    """
    tie = 1e-4  # weight of popularity in an item's bias: ranks items for unknown users and breaks ties
    extras = state.item_extras.copy()
    extras[:, BIAS] += max(tie, share) * clicks / max(1, clicks.max())
    return state._replace(item_extras=extras)


def with_popularity(state, clicks, share):
    """Return the State with a share of popularity in its score.

    The score is (1 - share) times that of `state`, plus `share` times popularity. clicks (N,): of each item; popularity
    is 1 for the item with the most clicks.
    """
    factors = state.user_factors * np.float32(1.0 - share)
    return set_popularity_bias(state._replace(user_factors=factors), clicks, share)


def deviation(clicks):
    """Return the root mean square of popularity.

    Popularity is 1 for the item with the most clicks (N,).
    """
    return float(np.sqrt(np.mean((clicks / max(1, clicks.max())) ** 2)))
