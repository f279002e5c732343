"""Benchmark of the defaults: test RMSE compared with means and other packages at their best, on real ratings.

The ratings are FilmTrust, and MovieLens 1M with fewer ratings or fewer users.

A predictor takes Ratings (train, test) with the same rows and yields predictions (n,) of test for each of its settings.
The best setting is chosen on the test set, which favours all but ours."""

import contextlib
import importlib.util
import io

import numpy as np

from gpukit import factorization
from gpukit.bench.measurement import MOVIELENS, Row, require_data
from gpukit.bench.ratings import drop_unused_ids, read_movielens
from gpukit.evaluation.metrics import rmse
from gpukit.ratings import read_ratings

FILMTRUST = "filmtrust/ratings.txt"


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
    seeds_filmtrust, seeds, n_users = 5, 2, 500
    yield "FilmTrust", thin(read_ratings(require_data(folder, FILMTRUST)), scale), seeds_filmtrust
    ratings = read_movielens(folder)
    for share in (0.01, 0.05, 0.2):
        yield f"{MOVIELENS}, {share:.0%} of the ratings", thin(ratings, share * scale), seeds
    users = np.random.default_rng(0).choice(ratings.shape[0], n_users, replace=False)
    by_few = drop_unused_ids(ratings.take(np.isin(ratings.users, users)))
    yield f"{MOVIELENS}, {n_users} of the users", thin(by_few, scale), seeds


def thin(ratings, share):
    """Return a random fraction of the ratings, without unused ids."""
    if share == 1.0:
        return ratings
    return drop_unused_ids(ratings.take(np.random.default_rng(0).random(len(ratings)) < share))


SURPRISE = {  # the package's defaults, and settings for sparser and denser ratings
    "SVD": (
        {},
        {"n_epochs": 30, "reg_all": 0.1},
        {"n_factors": 32, "n_epochs": 40, "reg_all": 0.08},
        {"n_epochs": 60, "lr_all": 0.01, "reg_all": 0.1},
    ),
    "SVDpp": ({}, {"n_epochs": 25, "lr_all": 0.005, "reg_all": 0.1}),
}


def global_mean(train, test):
    """Predict the mean rating."""
    yield np.full(len(test), train.values.mean(dtype=np.float64))


def damped_biases(train, test):
    """Predict mean + b_user + b_item for each damping of both sides."""
    dampings, sweeps = (1.0, 3.0, 5.0, 10.0, 25.0), 10
    mean = train.values.mean(dtype=np.float64)
    for damping in dampings:
        user_bias, item_bias = np.zeros(train.shape[0]), np.zeros(train.shape[1])
        for _ in range(sweeps):
            item_bias = _damped_means(
                train.items, train.values - mean - user_bias[train.users], train.shape[1], damping
            )
            user_bias = _damped_means(
                train.users, train.values - mean - item_bias[train.items], train.shape[0], damping
            )
        yield mean + user_bias[test.users] + item_bias[test.items]


def _damped_means(rows, residuals, count, damping):
    return np.bincount(rows, residuals, count) / (np.bincount(rows, minlength=count) + damping)


def libmf(n_factors):
    """Return the predictor of LIBMF's matrix factorization on one thread."""

    libmf_decays, libmf_iterations = (0.03, 0.06, 0.1, 0.15), 20

    def predict(train, test):
        with contextlib.redirect_stdout(io.StringIO()):  # it prints when it is imported
            from libmf import mf

        triples = np.stack([train.users, train.items, train.values], axis=1)
        for decay in libmf_decays:
            decays = {"lambda_p1": 0.0, "lambda_q1": 0.0, "lambda_p2": decay, "lambda_q2": decay}  # 1: of L1 norms
            model = mf.MF(k=n_factors, nr_threads=1, nr_iters=libmf_iterations, quiet=True, **decays)
            model.fit(triples)
            users, items = model.p_factors(), model.q_factors()  # its own predict confuses rows
            known = (test.users < len(users)) & (test.items < len(items))
            predicted = np.full(len(test), np.nan)
            predicted[known] = (users[test.users[known]] * items[test.items[known]]).sum(axis=1)
            yield np.where(np.isnan(predicted), train.values.mean(dtype=np.float64), predicted)  # NaN: never rated

    return predict


def surprise(name):
    """Return the predictor of an algorithm of Surprise."""

    def predict(train, test):
        import pandas
        import surprise as package

        frame = pandas.DataFrame({"user": train.users, "item": train.items, "rating": train.values})
        reader = package.Reader(rating_scale=train.scale)
        ratings = package.Dataset.load_from_df(frame, reader).build_full_trainset()
        for setting in SURPRISE[name]:
            model = getattr(package, name)(random_state=0, **setting).fit(ratings)
            yield np.array([model.predict(*pair).est for pair in zip(test.users.tolist(), test.items.tolist())])

    return predict


def gpukit_default(name, device):
    """Return the predictor of an estimator with its defaults."""

    def predict(train, test):
        yield getattr(factorization, name)(device=device).fit(train).predict(test, unknown="baseline")

    return predict


def make_predictors(device):
    """Return {name: predictor} of gpukit and the installed packages."""
    predictors = {"global mean": global_mean, "damped biases (1 to 25)": damped_biases}
    if importlib.util.find_spec("libmf"):
        predictors |= {f"LIBMF k={count}": libmf(count) for count in (32, 128)}
    if importlib.util.find_spec("surprise"):
        predictors |= {"Surprise SVD": surprise("SVD"), "Surprise SVD++": surprise("SVDpp")}
    return predictors | {f"{name}, defaults": gpukit_default(name, device) for name in ("MatrixFactorization", "LSHMF")}
