"""States of models of clicks: the start of training, popularity, and two models as one.

A second model, with a loss with sampled negatives, has all its parts, neighbourhoods included. The errors of the models
differ, so the sum of their scores ranks better than either. Factors are concatenated; the second model's score is
multiplied by `mixed`. The result is a State like any other.
"""

import numpy as np

from gpukit.factorization.arrays import Scale
from gpukit.factorization.constants import RULES
from gpukit.factorization.model.layout import BIAS
from gpukit.factorization.model.state import KEPT, State, start_factors, state_of_factors
from gpukit.factorization.prepare.formulas import SPREAD
from gpukit.factorization.solvers import solver_defaults
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


def with_popularity(state, clicks, share=0.0):
    """Return the State with a share of popularity in its score.

    The score is (1 - share) times that of `state`, plus `share` times popularity. clicks (N,): of each item; popularity
    is 1 for the item with the most clicks. At least it breaks ties and ranks items for unknown users.
    """
    tie = 1e-4  # least weight of popularity in an item's bias
    users, extras = state.user_factors, state.item_extras.copy()
    extras[:, BIAS] += max(tie, share) * clicks / max(1, clicks.max())
    users = users * np.float32(1.0 - share) if share else users
    return state._replace(user_factors=users, item_extras=extras)


def partner(estimator, plan, n_clicks, shape):
    """Return the settings.Settings of the second model; plan: those of the first."""
    standard = solver_defaults("sampled", plan.rates, n_clicks)
    named = {"epochs": "n_epochs", "regularization": "regularization", "learning_rate": "learning_rate"}
    arguments = {own: value for own, name in named.items() if (value := getattr(estimator, name)) is not None}
    loss = plan.loss if plan.solver == "sampled" else "cross-entropy"
    biases, factors = bool(getattr(estimator, "biases", True)), min(RULES.second_factors, *shape)
    own = {"solver": "sampled", "loss": loss, "biases": biases, "n_factors": factors, "mixed": 0.0, "popular": 0.0}
    return plan._replace(**{**standard, **arguments, **own, "counted": False})


def deviation(state):
    """Return the root mean square of all products of a State's factors."""
    users, items = (rows.T.astype(np.float64) @ rows for rows in (state.user_factors, state.item_factors))
    return float(np.sqrt((users * items).sum() / (len(state.user_factors) * len(state.item_factors))))


def combine_states(state, other, weight):
    """Return the State whose score is a State's plus `weight` times another's.

    The first one has no neighbours.
    """
    weight = np.float32(weight)
    sides = []
    for factors, extras, others, other_extras in zip(state[:4:2], state[1:4:2], other[:4:2], other[1:4:2]):
        extras = extras.copy()
        extras[:, BIAS] += weight * other_extras[:, BIAS]
        sides += [np.hstack((factors, others if sides else weight * others)), extras]
    return State(*sides, weight * other.influence, other.neighbors)


def split_states(state, plan):
    """Return the (first, second) State of one that `combine_states` made.

    plan: its settings.Settings. All biases are the second's.
    """
    first, weight, (users, of_users, items, of_items, influence) = plan.n_factors, np.float32(plan.mixed), state[:5]
    others = users[:, first:] / weight, of_users / weight, items[:, first:].copy(), of_items / weight
    one = state_of_factors(users[:, :first].copy(), items[:, :first].copy())
    return one, State(*others, influence / weight, state.neighbors)
