"""What `deterministic=True` costs on MovieLens 1M (real): time and test RMSE, plain training in turn beside it."""

import numpy as np

from gpukit.bench.ratings import converging, movielens
from gpukit.bench.record import Row

SEEDS, EPOCHS = range(5), 13


def models():
    """{name: (estimator class, its parameters)}; nothing is left to choose."""
    from gpukit.factorization import LSHMF, MatrixFactorization

    named = {"n_factors": 32, "n_epochs": EPOCHS, "regularization": 0.04}
    neighbors = {**named, "n_neighbors": 32}
    return {"CUSGD++ F=32": (MatrixFactorization, named), "CULSH-MF F=32 K=32": (LSHMF, neighbors)}


def trained(estimator, train, test, device):
    """(milliseconds of its median epoch, test RMSE after the last one)."""
    errors, times, _ = converging(estimator, train, test, device)
    return 1e3 * float(np.median(np.diff(times, prepend=0))), errors[-1]


def deterministic(conditions):
    """An epoch's time and the last RMSE, of one seed after the other, each with plain training before it."""
    train, test = movielens(conditions.data)
    for name, (kind, named) in models().items():
        both = [
            [
                trained(kind(deterministic=way, random_state=seed, **named), train, test, conditions.device)
                for way in (False, True)
            ]
            for seed in SEEDS
        ]
        (plain, errors), (times, judged) = (zip(*way) for way in zip(*both))
        note = f"{np.median(np.divide(times, plain)):.2f} times {np.median(plain):.3g} ms of plain training"
        yield Row(f"one epoch, deterministic, {name}", "MovieLens 1M", "real", times, "ms", note)
        note = f"plain training {np.mean(errors):.5f} in the mean, deterministic {np.mean(judged):.5f}"
        yield Row(f"test RMSE, deterministic, {name}", "MovieLens 1M", "real", judged, "RMSE", note)


BENCHES = {"deterministic": deterministic}
