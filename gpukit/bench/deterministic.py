"""Benchmark of `deterministic=True` on MovieLens 1M (real): time and test RMSE compared with plain training."""

import numpy as np

from gpukit.bench.ratings import MOVIELENS, model_label, split_movielens, time_convergence
from gpukit.bench.record import Row

SEEDS, EPOCHS = range(5), 13


def make_models():
    """Return {name: (estimator class, parameters)} with all hyperparameters fixed."""
    from gpukit.factorization import LSHMF, MatrixFactorization

    parameters = {"n_factors": 32, "n_epochs": EPOCHS, "regularization": 0.04}
    with_neighbors = {**parameters, "n_neighbors": 32}
    return {
        model_label("CUSGD++", 32): (MatrixFactorization, parameters),
        model_label("CULSH-MF", 32): (LSHMF, with_neighbors),
    }


def train_model(estimator, train, test, device):
    """Return (milliseconds of the median epoch, test RMSE after the last one)."""
    errors, times, _ = time_convergence(estimator, train, test, device)
    return 1e3 * float(np.median(np.diff(times, prepend=0))), errors[-1]


def deterministic(conditions):
    """Time an epoch and measure the last RMSE of both kinds of training, alternating by seed."""
    train, test = split_movielens(conditions.data)
    for name, (kind, parameters) in make_models().items():
        results = {False: [], True: []}
        for seed in SEEDS:
            for is_deterministic, samples in results.items():
                model = kind(deterministic=is_deterministic, random_state=seed, **parameters)
                samples.append(train_model(model, train, test, conditions.device))
        (plain_times, plain_errors), (times, errors) = (zip(*samples) for samples in results.values())
        note = f"{np.median(np.divide(times, plain_times)):.2f} times {np.median(plain_times):.3g} ms of plain training"
        yield Row(f"one epoch, deterministic, {name}", MOVIELENS, "real", times, "ms", note)
        note = f"plain training {np.mean(plain_errors):.5f} in the mean, deterministic {np.mean(errors):.5f}"
        yield Row(f"test RMSE, deterministic, {name}", MOVIELENS, "real", errors, "RMSE", note)
