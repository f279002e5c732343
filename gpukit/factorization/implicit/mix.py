"""Two models as one: least squares and a loss with sampled negatives.

The second model has all its parts, neighbourhoods included. The errors of the models differ, so the sum of their scores
ranks better than either. Factors are concatenated; the second model's score is multiplied by `mixed`. The result is a
State like any other.
"""

import numpy as np

from gpukit.factorization.constants import RULES
from gpukit.factorization.model.layout import BIAS
from gpukit.factorization.model.state import State, state_of_factors
from gpukit.factorization.solvers import solver_defaults

LOSS = "cross-entropy"


def partner(estimator, plan, n_clicks, shape):
    """Return the settings.Settings of the second model; plan: those of the first."""
    standard = solver_defaults("sampled", plan.rates, n_clicks)
    named = {"epochs": "n_epochs", "regularization": "regularization", "learning_rate": "learning_rate"}
    arguments = {own: value for own, name in named.items() if (value := getattr(estimator, name)) is not None}
    loss = plan.loss if plan.solver == "sampled" else LOSS
    biases, factors = bool(getattr(estimator, "biases", True)), min(RULES.second_factors, *shape)
    own = {"solver": "sampled", "loss": loss, "biases": biases, "n_factors": factors, "mixed": 0.0, "popular": 0.0}
    return plan._replace(**{**standard, **arguments, **own, "counted": False, "recency": 0.0})


def deviation(state):
    """Return the root mean square of all products of a State's factors."""
    users, items = (rows.T.astype(np.float64) @ rows for rows in (state.user_factors, state.item_factors))
    return float(np.sqrt((users * items).sum() / (len(state.user_factors) * len(state.item_factors))))


def combine_states(state, other, weight):
    """Return the State whose score is a State's plus `weight` times another's.

    The first one has no neighbours.
    """
    weight = np.float32(weight)
    users, items = state.user_extras.copy(), state.item_extras.copy()
    for extras, other_extras in ((users, other.user_extras), (items, other.item_extras)):
        extras[:, BIAS] += weight * other_extras[:, BIAS]
    return State(
        np.hstack((state.user_factors, weight * other.user_factors)),
        users,
        np.hstack((state.item_factors, other.item_factors)),
        items,
        weight * other.influence,
        other.neighbors,
    )


def split_states(state, plan):
    """Return the (first, second) State of one that `combine_states` made.

    plan: its settings.Settings. All biases are the second's.
    """
    first, weight = plan.n_factors, np.float32(plan.mixed)
    value = state_of_factors(state.user_factors[:, :first].copy(), state.item_factors[:, :first].copy())
    other = State(
        state.user_factors[:, first:] / weight,
        state.user_extras / weight,
        state.item_factors[:, first:].copy(),
        state.item_extras / weight,
        state.influence / weight,
        state.neighbors,
    )
    return value, other
