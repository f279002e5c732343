"""A new user folded in: bias and factors from a list of ratings, by ridge regression on what the model knows of the
items; the model stays as it is. On the host, in float64.

With the items' numbers fixed, Eq. (2) in the user's b and u is least squares with a ridge: for n ratings z_j,

    minimize  sum_j (z_j - b_j - t_j - b - u v_j)^2 + (n lambda_b + damping) b^2 + n lambda |u|^2

where t_j are the neighbourhood's terms of Eq. (1), of the ratings given. Every rating's step shrinks the user's
numbers, hence the n; the damping is that of the baseline.
"""

from typing import NamedTuple

import numpy as np

from gpukit.factorization.baseline import DAMPING
from gpukit.factorization.model.layout import BASE, BIAS
from gpukit.factorization.solvers.sgd.rates import BIAS_DECAY
from gpukit.factorization.solvers.squares.host import solved

LEAST = 1e-6  # of the ridge, so that few ratings do for many factors


class Given(NamedTuple):
    """A new user's ratings: items (n,) item rows, each once; z (n,) float64, in the units of training."""

    items: np.ndarray
    z: np.ndarray


class Taste(NamedTuple):
    """What is known of a new user: bias; base, the baseline bias of Eq. (1); factors (F,); all float64, in z."""

    bias: float
    base: float
    factors: np.ndarray


def taste_of(state, given, decay):
    """The Taste of a user of a state.State by a Given; decay: the regularization that the model was trained with."""
    extras = state.item_extras[given.items].astype(np.float64)
    base = float((given.z - extras[:, BASE]).sum() / (len(given.z) + DAMPING))
    known = Taste(0.0, base, np.zeros(state.user_factors.shape[1]))
    if not len(given.z):
        return known._replace(base=0.0)
    target = given.z - extras[:, BIAS] - neighborhood(state, given, base, given.items)
    design = np.column_stack((np.ones(len(target)), state.item_factors[given.items].astype(np.float64)))
    ridge = np.full(design.shape[1], max(decay, LEAST) * len(target))
    ridge[0] = BIAS_DECAY * len(target) + DAMPING
    found = solved(design.T @ design + np.diag(ridge), (design.T @ target)[:, None])[:, 0]
    return Taste(float(found[0]), base, found[1:])


def scores_of(state, given, taste, items=slice(None)):
    """Eq. (1) for a Taste and item rows, float64 in z."""
    own = state.item_factors[items].astype(np.float64) @ taste.factors
    own += state.item_extras[items, BIAS].astype(np.float64) + taste.bias
    return own + neighborhood(state, given, taste.base, items)


def neighborhood(state, given, base, items):
    """The second and third term of Eq. (1) for item rows, by the ratings given; 0 without neighbours."""
    near = state.neighbors[items]
    if not near.shape[1]:
        return 0.0
    seen, residual = np.zeros(len(state.neighbors), bool), np.zeros(len(state.neighbors))
    seen[given.items] = True
    residual[given.items] = given.z - state.item_extras[given.items, BASE] - base
    rated = seen[near]
    count = rated.sum(axis=1)
    explicit, implicit = (state.influence[items, part].astype(np.float64) for part in range(2))
    told, silent = (residual[near] * explicit).sum(axis=1), np.where(rated, 0.0, implicit).sum(axis=1)
    return told * scale_of(count) + silent * scale_of(near.shape[1] - count)


def scale_of(count):
    """|S|^-1/2, 0 for the empty set."""
    return np.where(count > 0, 1 / np.sqrt(np.maximum(count, 1)), 0.0)


def best_of(scores, given, n, exclude_seen):
    """(item rows (1, n) int32, their scores (1, n) float32), best first, equal ones by the lower row; NaN where a score
    is, and where fewer are left."""
    scores = scores.astype(np.float32)
    if exclude_seen:
        scores[given.items] = np.nan
    rows = np.argsort(-scores, kind="stable")[None, :n].astype(np.int32)
    return rows, scores[rows]
