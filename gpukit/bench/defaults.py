"""Benchmark of the defaults: test RMSE compared with means and other packages at their best, on real ratings.

The ratings are FilmTrust, and MovieLens 1M with fewer ratings or fewer users.
"""

import numpy as np

from gpukit.bench.checks import require_data
from gpukit.bench.predictors import make_predictors
from gpukit.bench.ratings import MOVIELENS, drop_unused_ids, read_movielens
from gpukit.bench.record import Row
from gpukit.evaluation.metrics import rmse

FILMTRUST = "filmtrust/ratings.txt"
SHARES, USERS = (0.01, 0.05, 0.2), 500


def defaults(conditions):
    """Measure the test RMSE of each predictor on 90/10 splits of each set of ratings."""
    for name, ratings, seeds in read_sets(conditions.data, conditions.scale):
        splits = [ratings.split(0.1, seed) for seed in range(seeds)]
        for label, predictor in make_predictors(conditions.device).items():
            samples = [lowest_rmse(predictor, *split) for split in splits]
            note = f"{seeds} splits; mean {np.mean(samples):.4f}"
            yield Row(f"test RMSE {label}", name, "real", samples, "RMSE", note)


def lowest_rmse(predictor, train, test):
    """Return the lowest RMSE of a predictor's settings; predictions are clipped to the range of train."""
    return min(rmse(test.values, np.clip(predicted, *train.scale)) for predicted in predictor(train, test))


def read_sets(folder, scale=1.0):
    """Yield (name, Ratings, number of seeds); scale: fraction of their ratings, for tests of the benchmark."""
    seeds_filmtrust, seeds = 5, 2
    from gpukit.ratings import read_ratings

    yield "FilmTrust", thin(read_ratings(require_data(folder, FILMTRUST)), scale), seeds_filmtrust
    ratings = read_movielens(folder)
    for share in SHARES:
        yield f"{MOVIELENS}, {share:.0%} of the ratings", thin(ratings, share * scale), seeds
    users = np.random.default_rng(0).choice(ratings.shape[0], USERS, replace=False)
    by_few = drop_unused_ids(ratings.take(np.isin(ratings.users, users)))
    yield f"{MOVIELENS}, {USERS} of the users", thin(by_few, scale), seeds


def thin(ratings, share):
    """Return a random fraction of the ratings, without unused ids."""
    if share == 1.0:
        return ratings
    return drop_unused_ids(ratings.take(np.random.default_rng(0).random(len(ratings)) < share))
