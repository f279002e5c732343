"""Benchmark of similar items and users: similarity measures compared on held-out ratings.

For an item j, take the ten most similar items. For each user who rated j above the baseline, sum the held-out residuals
(in standard deviations) of those ten; unrated items count 0. The gain is that sum over all users and judged items,
relative to the number of held-out ratings above the baseline. Popular items gain little, since their residuals are
small. Users are compared in the same way.
"""

import functools
from typing import NamedTuple

import numpy as np

from gpukit.bench.measurement import MOVIELENS, Row
from gpukit.bench.ratings import drop_unused_ids, read_movielens
from gpukit.factorization import LSHMF, MatrixFactorization
from gpukit.factorization.answers import similarity

SEEDS = range(3)
JUDGED = 200  # rows of each side


class Judge(NamedTuple):
    """rows (n,): the judged rows; gains (n, all): gain of each listed row; liked: held-out ratings above baseline."""

    rows: np.ndarray
    gains: np.ndarray
    liked: float

    def gain(self, score):
        """Return the gain, in percent, of the rows with the highest scores for each judged row."""
        total = 0.0
        for row, gains in zip(self.rows, self.gains):
            total += gains[top_rows(score, row)].sum()
        return 100 * total / self.liked


def top_rows(score, row):
    """Return the ten rows with the highest scores for a row, without the row itself."""
    scores = np.array(score(row), np.float64)
    scores[row] = -np.inf
    return np.argpartition(-scores, 10)[:10]


def make_measures(model, side):
    """Return {name: function of a row, the scores of all rows} of a fitted model; side: 'item' or 'user'."""
    history, state = model._rated, model._state
    counts = model.rating_counts()[side == "item"].astype(np.float64)
    compare = similarity.item_similarity if side == "item" else similarity.user_similarity

    def by(level, damping, factors):
        measure = similarity.Measure(level, damping, factors)
        norms = similarity.norms_of(history, state, measure)
        return lambda row: compare(row, history, state, norms, measure)[0]

    default = by(*similarity.MEASURE)
    measures = {
        "popularity": lambda row: counts,
        "factors": lambda row: similarity.cosines(row, getattr(state, f"{side}_factors")),
        "residuals": by(0.0, 0.0, 0.0),
        "residuals damped 50": by(0.0, 50.0, 0.0),
        "1 + residuals": by(1.0, 0.0, 0.0),
        "1 + residuals damped 50": by(1.0, 50.0, 0.0),
        "1 + residuals + factors/4 damped 50 (default)": default,
        "1 + residuals + factors damped 50": by(1.0, 50.0, 1.0),
    }
    if side == "item" and state.neighbors.shape[1]:
        measures["neighbour lists"] = lambda row: neighbor_weights(state, row)
        measures["default + neighbour lists/10"] = lambda row: default(row) + 0.1 * neighbor_weights(state, row)
    return measures


def neighbor_weights(state, row):
    """Return (N,) weights of a row's neighbours, falling from 1 to 0."""
    weights = np.zeros(len(state.neighbors))
    k = state.neighbors.shape[1]
    weights[state.neighbors[row]] = 1 - np.arange(k) / k
    return weights


def make_judge(model, train, test, side, seed=0):
    """Return the Judge of JUDGED items or users of a model by held-out ratings."""
    import scipy.sparse

    mean, deviation = model.mean_, model._scale.deviation
    parts = []
    for ratings in (train, test):
        baseline = mean + model.user_baseline_[ratings.users] + model.item_baseline_[ratings.items]
        matrix = (ratings.values - baseline) / deviation, (ratings.users, ratings.items)
        parts.append(scipy.sparse.csr_matrix(matrix, train.shape))
    learned, held_out = parts if side == "item" else (part.T.tocsr() for part in parts)
    rows = np.sort(np.random.default_rng(seed).permutation(learned.shape[1])[:JUDGED])
    liked = (learned > 0).astype(np.float64).T.tocsr()[rows]
    return Judge(rows, (liked @ held_out).toarray(), float((liked @ (held_out > 0)).sum()))


def split(ratings, seed):
    """Return (train, test) with the id maps of the ratings."""
    held_out = 0.2
    is_test = np.random.default_rng(seed).random(len(ratings)) < held_out
    return ratings.take(np.flatnonzero(~is_test)), ratings.take(np.flatnonzero(is_test))


@functools.lru_cache(maxsize=1)
def read_shapes(folder):
    """Return {name: Ratings} of MovieLens 1M, whole, with fewer ratings and with fewer users."""
    ratings, rng = read_movielens(folder), np.random.default_rng(0)
    fifth = rng.random(len(ratings)) < 0.2
    by_few = np.isin(ratings.users, rng.choice(ratings.shape[0], 500, replace=False))
    return {
        MOVIELENS: ratings,
        f"{MOVIELENS}, a fifth of the ratings": drop_unused_ids(ratings.take(fifth)),
        f"{MOVIELENS}, 500 users": drop_unused_ids(ratings.take(by_few)),
    }


def measure_gains(ratings, conditions):
    """Return {what: [gain a seed]} of all measures, models and sides."""
    samples = {}
    for seed in SEEDS:
        train, test = split(ratings, seed)
        common = {"device": conditions.device, "random_state": seed}
        for label, model in (("CUSGD++", MatrixFactorization(**common)), ("CULSH-MF", LSHMF(n_neighbors=32, **common))):
            model.fit(train)
            for side in ("item", "user"):
                judge = make_judge(model, train, test, side, seed)
                for name, score in make_measures(model, side).items():
                    what = f"liked together, similar {side}s of {label}: {name}"
                    samples.setdefault(what, []).append(judge.gain(score))
    return samples


def similar(conditions):
    """Measure the gain of ten similar items and users by each similarity measure."""
    for shape, ratings in read_shapes(conditions.data).items():
        for what, samples in measure_gains(ratings, conditions).items():
            yield Row(what, shape, "real", samples, "percent", f"three splits, a fifth held out, {JUDGED} rows judged")
