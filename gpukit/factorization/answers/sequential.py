"""Sequential evaluation: each rating of a user is predicted from the earlier ones before it is learned.

The user's parameters are those of fold_in.fit_user after every rating. With the features of fold_in.features_of they
are P sum_j a_j y_j, P = (sum_j a_j a_j' + noise I)^-1, and a rating changes P by a product of two vectors (Sherman and
Morrison 1950). So a prediction takes F^2 operations, and those of the neighbourhood's terms of the earlier ratings.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gpukit._jit import njit
from gpukit.evaluation.metrics import mae, rmse
from gpukit.factorization.answers.fold_in import features_of, prior_of
from gpukit.factorization.constants import DAMPING
from gpukit.factorization.model.layout import BASE, BIAS
from gpukit.factorization.run import unscale
from gpukit.scheduler import by_block


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
        parts = [("all", np.ones(len(truth), np.bool_))]
        earlier = 0, 1, 5, 20, 100  # ratings from which a row of the report begins
        for low, high in zip(earlier, (*earlier[1:], np.inf)):
            name = f"{low}" if high == low + 1 else f"{low} to {high - 1}" if high < np.inf else f"from {low} on"
            parts.append((name, (self.earlier >= low) & (self.earlier < high)))
        return [
            {
                "earlier": name,
                "ratings": int(chosen.sum()),
                "rmse": rmse(truth[chosen], self.predicted[chosen]),
                "mae": mae(truth[chosen], self.predicted[chosen]),
                "biases_rmse": rmse(truth[chosen], self.by_biases[chosen]),
                "biases_mae": mae(truth[chosen], self.by_biases[chosen]),
            }
            for name, chosen in parts
            if chosen.any()
        ]


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
    source = np.arange(known.sum()) + np.repeat(starts - np.append(0, np.cumsum(known)[:-1]), known)
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
