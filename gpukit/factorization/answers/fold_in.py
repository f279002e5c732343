"""Fold-in of a new user: bias and factors by Bayesian regression on the items' parameters, which stay fixed.

Computed on the host, in float64. For n ratings z_j of a user with bias b and factors u, minimize

    sum_j (z_j - b_j - t_j - b - u v_j)^2 + damping b^2 + noise u' S^-1 u

where t_j are the neighbourhood's terms of Eq. (1) from these ratings, S is the mean of u u' over the users of the
training, and the noise is the mean squared error there. So a user with few ratings is much like the others, and one
with many is not. This is the most probable u if users' factors are normal with covariance S (Bishop, Pattern
Recognition and Machine Learning, 2006, 3.3). The damping is that of the baseline.
"""

from typing import NamedTuple

import numpy as np

from gpukit.errors import DataError
from gpukit.factorization.constants import DAMPING
from gpukit.factorization.model.layout import BASE, BIAS
from gpukit.factorization.online.inputs import check_near, locate
from gpukit.factorization.solvers.squares.plan import solve_symmetric
from gpukit.factorization.twins import row_products
from gpukit.io.ids import check_types, rows_of
from gpukit.ratings.check import are_pairs, check_range
from gpukit.ratings.convert import as_values, merge_repeats, table_of


class UserRatings(NamedTuple):
    """Ratings of a new user: items (n,) distinct item rows; z (n,) float64, in training units."""

    items: np.ndarray
    z: np.ndarray


class UserParameters(NamedTuple):
    """Parameters of a new user: bias; base, the baseline bias of Eq. (1); factors (F,); float64, in z."""

    bias: float
    base: float
    factors: np.ndarray


class Prior(NamedTuple):
    """Users of the training: root (F, F) float64 with root root' = S, and the noise; see the module."""

    root: np.ndarray
    noise: float


def prior_of(model):
    """Return the Prior of a fitted model of ratings, measured at the first call."""
    return model._prepare("prior", lambda: measure_prior(model))


def measure_prior(model):
    """Return the Prior of a fitted model of ratings."""
    sample = 100_000  # ratings that measure the noise
    least = 1e-6  # of the noise, for users that the model fits exactly
    history, state = model._rated, model._state
    counts = np.diff(history.indptr)[: len(state.user_factors)]
    users = state.user_factors[counts > 0].astype(np.float64)
    spectrum, basis = np.linalg.eigh(users.T @ users / max(len(users), 1))
    sampled = np.unique(np.linspace(0, len(history.items) - 1, sample).astype(np.int64))
    rows = np.searchsorted(history.indptr, sampled, side="right") - 1
    result = model._z_of((model.user_ids_[rows], model.item_ids_[history.items[sampled]]))
    errors = history.levels[history.codes[sampled]].astype(np.float64) - result
    return Prior(basis * np.sqrt(np.maximum(spectrum, 0)), max(float(np.mean(errors**2)), least))


def features_of(factors, prior):
    """Return (n, 1 + F) float64: the features of a user's bias and factors for rows of item factors (n, F).

    In their units every coefficient has the weight `noise` in the minimum.
    """
    bias = np.full(len(factors), np.sqrt(prior.noise / DAMPING))
    return np.column_stack((bias, factors.astype(np.float64) @ prior.root))


def fit_user(state, ratings, prior):
    """Return the UserParameters of a user of a state.State from UserRatings; prior: Prior."""
    extras = state.item_extras[ratings.items].astype(np.float64)
    base = float((ratings.z - extras[:, BASE]).sum() / (len(ratings.z) + DAMPING))
    target = ratings.z - extras[:, BIAS] - neighborhood(state, ratings, base, ratings.items)
    design = features_of(state.item_factors[ratings.items], prior)
    precision = design.T @ design + prior.noise * np.eye(design.shape[1])
    solution = solve_symmetric(precision, (design.T @ target)[:, None])[:, 0]
    return UserParameters(float(np.sqrt(prior.noise / DAMPING) * solution[0]), base, prior.root @ solution[1:])


def predict_scores(state, ratings, user, items=slice(None)):
    """Return Eq. (1) for UserParameters and item rows, float64 in z."""
    scores = row_products(state.item_factors[items], user.factors)
    scores += state.item_extras[items, BIAS].astype(np.float64) + user.bias
    return scores + neighborhood(state, ratings, user.base, items)


def neighborhood(state, ratings, base, items):
    """Return the second and third term of Eq. (1) for item rows from UserRatings; 0 without neighbours."""
    near = state.neighbors[items]
    if not near.shape[1]:
        return 0.0
    is_rated, residual = np.zeros(len(state.neighbors), bool), np.zeros(len(state.neighbors))
    is_rated[ratings.items] = True
    residual[ratings.items] = ratings.z - state.item_extras[ratings.items, BASE] - base
    rated = is_rated[near]
    count = rated.sum(axis=1)
    w, c = (state.influence[items, part].astype(np.float64) for part in range(2))
    explicit, implicit = (residual[near] * w).sum(axis=1), np.where(rated, 0.0, c).sum(axis=1)
    return explicit * scale_of(count) + implicit * scale_of(near.shape[1] - count)


def scale_of(count):
    """Return |S|^-1/2, 0 for the empty set."""
    return np.where(count > 0, 1 / np.sqrt(np.maximum(count, 1)), 0.0)


def rank_items(scores, ratings, n, exclude_seen):
    """Return (item rows (1, n) int32, scores (1, n) float32), best first, ties by the lower row.

    Scores are NaN for missing items.
    """
    scores = scores.astype(np.float32)
    if exclude_seen:
        scores[ratings.items] = np.nan
    rows = best_places(scores, n)[None].astype(np.int32)
    return rows, scores[rows]


def best_places(scores, n):
    """Return the positions of the n highest scores, best first, NaN last; ties by the lower position."""
    falling, places = -scores, np.arange(len(scores))
    if n < len(scores) and not np.isnan(least := np.partition(falling, n - 1)[n - 1]):
        places = np.flatnonzero(falling <= least)  # the others need no sorting
    return places[np.argsort(falling[places], kind="stable")[:n]]


def read_user_ratings(X, y, duplicates, bounds):
    """Return the Ratings of recommend_for's arguments, each pair once; raise DataError for none and outside bounds."""
    if isinstance(X, dict):
        check_types(list(X), "item")
        X = np.zeros(len(X), np.int64), np.array(list(X)), as_values(list(X.values()))
    elif y is None and (items := clicked_items(X)) is not None:
        check_types(items, "item")
        X = np.zeros(len(items), np.int64), np.asarray(items)
    ratings = table_of(X, y)
    if not are_pairs(ratings):
        check_range(ratings.values, bounds, lambda row: locate(ratings, row))
    ratings = merge_repeats(ratings, X, duplicates, timed=False, stacklevel=3)
    if not len(ratings):
        raise DataError("There are no ratings: 0 rows. Give at least one.")
    return ratings


def clicked_items(X):
    """Return the items that one user clicked, from a list, a set or a one-dimensional array; None for other input."""
    if isinstance(X, list | set):
        return list(X) if all(np.ndim(item) == 0 for item in X) else None
    return X if len(getattr(X, "shape", ())) == 1 else None


def iterate_users(ratings, item_ids, order, scale):
    """Yield (user row, UserRatings) of each user of Ratings with any, without unknown items.

    order: io.ids.ascending_order of item_ids, or None.
    """
    check_near(ratings.values, scale)
    rows = rows_of(ratings.item_ids, item_ids, "item", order)[ratings.items]
    z = (ratings.values.astype(np.float64) - scale.mean) / scale.deviation
    order = np.argsort(ratings.users, kind="stable")
    ends = np.cumsum(np.bincount(ratings.users, minlength=ratings.shape[0]))
    for user in np.unique(ratings.users).tolist():
        places = order[ends[user - 1] if user else 0 : ends[user]]
        places = places[rows[places] >= 0]
        yield user, UserRatings(rows[places], z[places])
