"""Fold-in of a new user: bias and factors by regression on the items' parameters, which stay fixed.

Computed on the host, in float64. For clicks the problem is that of training. For n ratings z_j of a user with bias b
and factors u, minimize

    sum_j (z_j - b_j - t_j - b - u v_j)^2 + damping b^2 + noise u' S^-1 u

where t_j are the neighbourhood's terms of Eq. (1) from these ratings, S is the mean of u u' over the users of the
training, and the noise is the mean squared error there. So a user with few ratings is much like the others, and one
with many is not. This is the most probable u if users' factors are normal with covariance S (Bishop, Pattern
Recognition and Machine Learning, 2006, 3.3). The damping is that of the baseline.
"""

from typing import NamedTuple

import numpy as np

from gpukit._jit import njit
from gpukit.errors import DataError
from gpukit.evaluation.metrics import mae, rmse
from gpukit.factorization.arrays import places_in_rows, unscale
from gpukit.factorization.constants import DAMPING
from gpukit.factorization.model.layout import BASE, BIAS
from gpukit.factorization.model.state import split_states, weights_matrix
from gpukit.factorization.online.inputs import check_near, locate, settings_of_model
from gpukit.factorization.solvers import solver_defaults
from gpukit.factorization.solvers.ials import fold_in, gram_of
from gpukit.factorization.solvers.squares import solve_symmetric
from gpukit.factorization.twins import row_products
from gpukit.io.ids import check_types, rows_of
from gpukit.ratings.adopt import adopt, as_values, merge_repeats
from gpukit.ratings.check import are_pairs, check_range
from gpukit.scheduler import by_block


def scorer(model):
    """Return a function that scores all items for a UserRatings.

    model: a fitted model of clicks. Scores are (N,) float64.
    """
    state, plan = model._state, settings_of_model(model, len(model._rated.items))
    bias = state.item_extras[:, BIAS].astype(np.float64)
    taste, weights = taste_of(state, plan, bias), weights_matrix(state)

    def scores(clicks):
        near = neighborhood(state, clicks, 0.0, slice(None)) + np.zeros(len(bias))
        result = taste(clicks, near) + bias + near
        if weights is not None:
            result += weights[clicks.items].sum(axis=0, dtype=np.float64)
        return result

    return scores


def taste_of(state, plan, bias):
    """Return the scoring function of the factors; its arguments are a UserRatings and the neighbourhood's scores.

    bias (N,) float64: of the items.
    """
    if plan.solver == "ease":
        return lambda clicks, near: 0.0
    if plan.mixed:
        return mixed_scorer(state, plan)
    return squares_scorer(state, plan) if plan.solver == "ials" else cross_entropy_scorer(state, plan, bias)


def mixed_scorer(state, plan):
    """Return the scoring function of two models in one.

    Its arguments are a UserRatings and the neighbourhood's scores.
    """
    one, other = split_states(state, plan)
    sampled_plan = plan._replace(**{**solver_defaults("sampled", plan.rates, 0), "solver": "sampled"})
    squares = squares_scorer(one, plan)
    chances = cross_entropy_scorer(other, sampled_plan, other.item_extras[:, BIAS].astype(np.float64))
    return lambda clicks, near: squares(clicks, near) + plan.mixed * chances(clicks, near / plan.mixed)


def squares_scorer(state, plan):
    """Return the scoring function of `ials`, u V'.

    Its arguments are a UserRatings and the neighbourhood's scores.
    """
    gram = gram_of(state.item_factors)

    def products(clicks, near):
        indptr = np.array([0, len(clicks.items)])
        user = fold_in(state.item_factors, indptr, clicks.items, clicks.z, plan, gram)[0]
        return (1.0 - plan.popular) * row_products(state.item_factors, user).astype(np.float64)

    return products


def cross_entropy_scorer(state, plan, bias):
    """Return the scoring function b_i + u V' by cross-entropy.

    Its arguments are a UserRatings and the neighbourhood's scores. It minimizes the cross-entropy of the user's
    clicks and of the other items by Newton's method. Other items are weighted by their expected number of draws.
    """

    most_items = 20_000  # maximum number of items without a click in the loss with sampled negatives

    def products(clicks, near):
        if not len(clicks.items):
            return np.zeros(len(bias))
        others = np.setdiff1d(np.arange(len(bias)), clicks.items)
        others = np.random.default_rng(plan.seed).permutation(others)[:most_items]
        rows = np.concatenate((clicks.items, others))
        truth = np.repeat((1.0, 0.0), (len(clicks.items), len(others)))
        weights = np.where(truth, 1.0, plan.n_negatives * len(clicks.items) / max(1, len(others)))
        design = np.column_stack((np.ones(len(rows)), state.item_factors[rows].astype(np.float64)))
        decay = max(plan.regularization, 1e-6) * (1 + plan.n_negatives) * len(clicks.items)
        result = newton(design, truth, weights, (bias + near)[rows], decay)
        return result[0] + state.item_factors.astype(np.float64) @ result[1:]

    return products


def newton(design, truth, weights, offset, decay):
    """Return x (F,) that minimizes a weighted, regularized cross-entropy.

    The cross-entropy is of sigma(design x + offset) with truth; the penalty is decay / 2 |x|^2.
    """
    steps = 12  # of Newton's method
    result = np.zeros(design.shape[1])
    for _ in range(steps):
        chance = 1.0 / (1.0 + np.exp(-np.clip(design @ result + offset, -30.0, 30.0)))
        slope = design.T @ (weights * (chance - truth)) + decay * result
        curve = (design.T * (weights * chance * (1.0 - chance))) @ design + decay * np.eye(len(result))
        step = solve_symmetric(curve, slope[:, None])[:, 0]
        result -= step / max(1.0, np.abs(step).max())
    return result


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
    ratings = adopt(X, y)
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


def iterate_users(ratings, item_ids, order, scale, users=None):
    """Yield (user row, UserRatings) of each of the users, rows (n,), without unknown items.

    order: io.ids.ascending_order of item_ids, or None; users: None for those with Ratings.
    """
    check_near(ratings.values, scale)
    rows = rows_of(ratings.item_ids, item_ids, "item", order)[ratings.items]
    z = (ratings.values.astype(np.float64) - scale.mean) / scale.deviation
    order = np.argsort(ratings.users, kind="stable")
    ends = np.cumsum(np.bincount(ratings.users, minlength=ratings.shape[0]))
    for user in (np.unique(ratings.users) if users is None else users).tolist():
        places = order[ends[user - 1] if user else 0 : ends[user]]
        places = places[rows[places] >= 0]
        yield user, UserRatings(rows[places], z[places])


# Sequential evaluation: each rating of a user is predicted from the earlier ones before it is learned. The user's
# parameters are those of fit_user after every rating. With the features of features_of they are P sum_j a_j y_j,
# P = (sum_j a_j a_j' + noise I)^-1, and a rating changes P by a product of two vectors (Sherman and Morrison 1950). So
# a prediction takes F^2 operations, and those of the neighbourhood's terms of the earlier ratings.


class Sequences(NamedTuple):
    """Ratings of users in the order in which they are learned, those that the model knows before those of the test.

    indptr (n + 1,) int64; first (n,) int64: each user's first place that is predicted; items (m,) int32: rows of the
    model, N for unknown items; z (m,) float64, in training units.
    """

    indptr: np.ndarray
    first: np.ndarray
    items: np.ndarray
    z: np.ndarray


class Sequential(NamedTuple):
    """Result: predicted ratings, those by biases, and earlier ratings of the user, (n,) each, in the test's order."""

    predicted: np.ndarray
    by_biases: np.ndarray
    earlier: np.ndarray

    def rows(self, truth: np.ndarray) -> list[dict]:
        """Return the report for the true ratings (n,): a row for all of them and one a number of earlier ratings."""
        parts, earlier = [("all", np.ones(len(truth), np.bool_))], (0, 1, 5, 20, 100)  # from which a row begins
        for low, high in zip(earlier, (*earlier[1:], np.inf)):
            name = f"{low}" if high == low + 1 else f"{low} to {high - 1}" if high < np.inf else f"from {low} on"
            parts.append((name, (self.earlier >= low) & (self.earlier < high)))
        rows, measures = [], {"rmse": rmse, "mae": mae}
        for name, chosen in ((name, chosen) for name, chosen in parts if chosen.any()):
            rows.append({"earlier": name, "ratings": int(chosen.sum())})
            for prefix, values in (("", self.predicted), ("biases_", self.by_biases)):
                errors = {f"{prefix}{key}": measure(truth[chosen], values[chosen]) for key, measure in measures.items()}
                rows[-1].update(errors)
        return rows


def predict_sequentially(model, ratings, users, items):
    """Return the Sequential of Ratings for a fitted model of ratings.

    users, items (n,): rows of the model; unknown users have any rows from M on, an unknown item has row N. A user's
    ratings are taken by their times, if there are any, and by their order.
    """
    state, scale, prior = model._state, model._scale, prior_of(model)
    z = (ratings.values.astype(np.float64) - scale.mean) / scale.deviation
    order = np.argsort(users, kind="stable") if ratings.times is None else np.lexsort((ratings.times, users))
    sequences = append_to_known(model._rated, len(state.user_factors), users[order], items[order], z[order])
    extras = np.vstack((state.item_extras, np.zeros((1, state.item_extras.shape[1])))).astype(np.float64)
    features = features_of(np.vstack((state.item_factors, np.zeros((1, state.item_factors.shape[1])))), prior)
    result = np.empty((len(sequences.items), 2))
    numbers = features, extras[:, BIAS].copy(), extras[:, BASE].copy(), prior.noise
    learn_in_order(sequences, *numbers, state.neighbors, state.influence, result)
    places, counts = np.arange(len(result)), np.diff(sequences.indptr)
    is_asked = places >= np.repeat(sequences.first, counts)
    earlier = places - np.repeat(sequences.indptr[:-1], counts)
    columns = np.empty((3, len(order)))
    columns[:, order] = np.vstack((result.T, earlier))[:, is_asked]
    predicted, by_biases = unscale(columns[:2].astype(np.float32), scale)
    return Sequential(predicted, by_biases, columns[2].astype(np.int64))


def append_to_known(history, n_users, users, items, z):
    """Return the Sequences of a test's ratings, sorted by user, after those of a History.

    n_users: M, the users of the History; users, items, z (n,): see predict_sequentially.
    """
    rows, counts = np.unique(users, return_counts=True)
    known = np.where(rows < n_users, np.diff(history.indptr)[np.minimum(rows, n_users)], 0)
    indptr = np.append(0, np.cumsum(known + counts))
    first, merged_columns = indptr[:-1] + known, (np.empty(indptr[-1], np.int32), np.empty(indptr[-1]))
    starts = history.indptr[np.minimum(rows, n_users)]
    source = places_in_rows(starts, known)
    is_asked = np.arange(indptr[-1]) >= np.repeat(first, known + counts)
    merged_columns[0][~is_asked], merged_columns[0][is_asked] = history.items[source], items
    merged_columns[1][~is_asked], merged_columns[1][is_asked] = history.levels[history.codes[source]], z
    return Sequences(indptr, first, *merged_columns)


@njit
def _neighbor_terms(item, base, neighbors, influence, residual, is_rated):
    """Return the neighbourhood's terms of Eq. (1) for an item; residual (N,): z less the item's baseline."""
    if item >= neighbors.shape[0]:
        return 0.0
    explicit, implicit, rated = 0.0, 0.0, 0
    for k in range(neighbors.shape[1]):
        other = neighbors[item, k]
        if is_rated[other]:
            explicit += (residual[other] - base) * influence[item, 0, k]
            rated += 1
        else:
            implicit += influence[item, 1, k]
    silent = neighbors.shape[1] - rated
    return explicit / np.sqrt(max(rated, 1)) + implicit / np.sqrt(max(silent, 1))


@njit
def _learn(feature, P, gain):
    """Change P = (sum a a' + noise I)^-1 for one more feature vector a."""
    size = feature.size
    total = 1.0
    for i in range(size):
        value = 0.0
        for j in range(size):
            value += P[i, j] * feature[j]
        gain[i] = value
        total += value * feature[i]
    for i in range(size):
        share = gain[i] / total
        for j in range(size):
            P[i, j] -= share * gain[j]


@njit
def _product(feature, P, moment):
    """Return a' P y."""
    total = 0.0
    for i in range(feature.size):
        value = 0.0
        for j in range(feature.size):
            value += P[i, j] * moment[j]
        total += value * feature[i]
    return total


@by_block(lambda sequences: len(sequences.first))
def learn_in_order(start, stop, sequences, features, bias, baseline, noise, neighbors, influence, predicted):
    """Predict ratings of Sequences from `first` on, each before it is learned.

    features (N + 1, 1 + F) float64; bias, baseline (N + 1,) float64: b_j and its baseline, the last row for unknown
    items, which are not learned; noise: fold_in.Prior's; neighbors (N, K) int32, influence (N, 2, K) float32; found
    (m, 2) float64, overwritten: z by the model and by the baselines; unchanged for ratings before `first`.
    """
    indptr, first, items, z = sequences
    size, n_items = features.shape[1], neighbors.shape[0]
    P, moment, gain = np.empty((size, size)), np.empty(size), np.empty(size)
    residual, is_rated = np.zeros(n_items), np.zeros(n_items, np.bool_)
    for user in range(start, stop):
        total, count = 0.0, 0
        for i in range(size):
            moment[i] = 0.0
            for j in range(size):
                P[i, j] = 1.0 / noise if i == j else 0.0
        for t in range(indptr[user], indptr[user + 1]):
            item, base = items[t], total / (count + DAMPING)
            if t >= first[user]:
                if neighbors.shape[1]:
                    moment[:] = 0.0
                    for s in range(indptr[user], t):
                        other = items[s]
                        if other < n_items:
                            rest = (
                                z[s]
                                - bias[other]
                                - _neighbor_terms(other, base, neighbors, influence, residual, is_rated)
                            )
                            for i in range(size):
                                moment[i] += rest * features[other, i]
                predicted[t, 0] = bias[item] + _product(features[item], P, moment)
                if neighbors.shape[1]:
                    predicted[t, 0] += _neighbor_terms(item, base, neighbors, influence, residual, is_rated)
                predicted[t, 1] = baseline[item] + base
            if item < n_items:
                _learn(features[item], P, gain)
                for i in range(size):
                    moment[i] += (z[t] - bias[item]) * features[item, i]
                total, count = total + z[t] - baseline[item], count + 1
                residual[item], is_rated[item] = z[t] - baseline[item], True
        for t in range(indptr[user], indptr[user + 1]):
            if items[t] < n_items:
                is_rated[items[t]] = False
