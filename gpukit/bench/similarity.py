"""Which items, and which users, are alike? Measures of likeness judged by held-out ratings.

For each of some hundred items j the ten items most alike. Of every user who rated j above what biases expect, sum by
how much they rated those ten above it in held-out ratings (in deviations; what they did not rate is 0), as a share of
the held-out ratings that they liked: who likes j should both have rated what is like j, and liked it. Popular items are
rated often, and as expected: they gain little. Users in the same way: items that a user liked, held-out ratings of the
users most alike.
"""

import functools
from pathlib import Path
from typing import NamedTuple

import numpy as np

from gpukit.bench.record import Row
from gpukit.errors import DataError

SEEDS = range(3)
LISTED = 10
HELD_OUT = 0.2
JUDGED = 200  # rows of each side


class Judge(NamedTuple):
    """rows (n,): those that are judged; gains (n, all): what it brings to list a row for each; liked: the held-out
    ratings that were liked."""

    rows: np.ndarray
    gains: np.ndarray
    liked: float

    def gain(self, score):
        """Percent of what was liked, of the rows that score highest with each judged row, itself left out."""
        total = 0.0
        for row, gains in zip(self.rows, self.gains):
            total += gains[listed(score, row)].sum()
        return 100 * total / self.liked


def listed(score, row):
    """(LISTED,) the rows that score highest with a row, without itself."""
    scores = np.array(score(row), np.float64)
    scores[row] = -np.inf
    return np.argpartition(-scores, LISTED)[:LISTED]


def measures(model, what):
    """{name: function of a row that gives the scores of all rows} of a fitted model's items or users."""
    from gpukit.factorization.answers import similarity

    history, state = model._rated, model._state
    counts = model.rating_counts()[what == "item"].astype(np.float64)
    compare = similarity.of_item if what == "item" else similarity.of_user

    def by(level, damping, factors):
        measure = similarity.Measure(level, damping, factors)
        norms = similarity.norms_of(history, state, measure)
        return lambda row: compare(row, history, state, norms, measure)[0]

    chosen = by(*similarity.MEASURE)
    found = {
        "popularity": lambda row: counts,
        "factors": lambda row: similarity.cosines(row, getattr(state, f"{what}_factors")),
        "residuals": by(0.0, 0.0, 0.0),
        "residuals damped 50": by(0.0, 50.0, 0.0),
        "1 + residuals": by(1.0, 0.0, 0.0),
        "1 + residuals damped 50": by(1.0, 50.0, 0.0),
        "1 + residuals + factors/4 damped 50 (default)": chosen,
        "1 + residuals + factors damped 50": by(1.0, 50.0, 1.0),
    }
    if what == "item" and state.neighbors.shape[1]:
        found["neighbour lists"] = lambda row: in_list(state, row)
        found["default + neighbour lists/10"] = lambda row: chosen(row) + 0.1 * in_list(state, row)
    return found


def in_list(state, row):
    """(N,) 1 for the first of a row's neighbours, falling to 0."""
    places = np.zeros(len(state.neighbors))
    k = state.neighbors.shape[1]
    places[state.neighbors[row]] = 1 - np.arange(k) / k
    return places


def judge_of(model, train, test, what, seed=0):
    """The Judge of some of a model's items or users, by held-out ratings."""
    import scipy.sparse

    mean, deviation = model.mean_, model._scale.deviation
    parts = []
    for ratings in (train, test):
        usual = mean + model.user_baseline_[ratings.users] + model.item_baseline_[ratings.items]
        matrix = (ratings.values - usual) / deviation, (ratings.users, ratings.items)
        parts.append(scipy.sparse.csr_matrix(matrix, train.shape))
    learned, held_out = parts if what == "item" else (part.T.tocsr() for part in parts)
    rows = np.sort(np.random.default_rng(seed).permutation(learned.shape[1])[:JUDGED])
    liked = (learned > 0).astype(np.float64).T.tocsr()[rows]
    return Judge(rows, (liked @ held_out).toarray(), float((liked @ (held_out > 0)).sum()))


def split(ratings, seed):
    """(train, test), both in the rows of `ratings`."""
    is_test = np.random.default_rng(seed).random(len(ratings)) < HELD_OUT
    return ratings.take(np.flatnonzero(~is_test)), ratings.take(np.flatnonzero(is_test))


@functools.lru_cache(maxsize=1)
def shapes(folder):
    """{name: Ratings}: MovieLens 1M, and what is left of it when ratings, or users, are few."""
    from gpukit.ratings import as_ratings, read_ratings

    if folder is None:
        raise DataError("MovieLens 1M is needed: set GPUKIT_DATA to the folder that holds ml-1m/ratings.dat.")
    whole, rng = read_ratings(Path(folder) / "ml-1m" / "ratings.dat"), np.random.default_rng(0)
    fifth = rng.random(len(whole)) < 0.2
    some = np.isin(whole.users, rng.choice(whole.shape[0], 500, replace=False))
    found = {"MovieLens 1M": whole}
    for name, kept in (("MovieLens 1M, a fifth of the ratings", fifth), ("MovieLens 1M, 500 users", some)):
        users, items = whole.user_ids[whole.users[kept]], whole.item_ids[whole.items[kept]]
        found[name] = as_ratings((users, items, whole.values[kept]))
    return found


def judged(ratings, conditions):
    """{what: [gain a seed]} of all measures, models and sides."""
    from gpukit.factorization import LSHMF, MatrixFactorization

    samples = {}
    for seed in SEEDS:
        train, test = split(ratings, seed)
        chosen = {"device": conditions.device, "random_state": seed}
        for label, model in (("CUSGD++", MatrixFactorization(**chosen)), ("CULSH-MF", LSHMF(n_neighbors=32, **chosen))):
            model.fit(train)
            for what in ("item", "user"):
                judge = judge_of(model, train, test, what, seed)
                for name, score in measures(model, what).items():
                    name = f"liked together, similar {what}s of {label}: {name}"
                    samples.setdefault(name, []).append(judge.gain(score))
    return samples


def similar(conditions):
    """What ten similar items, or users, tell about held-out ratings, by each measure of likeness."""
    for shape, ratings in shapes(conditions.data).items():
        for what, samples in judged(ratings, conditions).items():
            yield Row(what, shape, "real", samples, "percent", f"three splits, a fifth held out, {JUDGED} rows judged")


BENCHES = {"similar": similar}
