"""The benchmark of defaults on a few real ratings."""

import importlib.util
import os

import numpy as np
import pytest
from factorization.inputs import planted
from support import data

from gpukit.bench import Conditions
from gpukit.bench.ratings import defaults, global_mean, lowest_rmse, make_predictors, read_sets, thin
from gpukit.device import cpu


@pytest.mark.slow
def test_predictors_of_a_set():
    train, test = planted(60, 30, 0.6).split(0.2, 0)
    errors = {name: lowest_rmse(predictor, train, test) for name, predictor in make_predictors(cpu()).items()}
    assert errors["damped biases (1 to 25)"] < errors["global mean"] == pytest.approx(np.std(test.values), rel=0.1)
    assert errors["LSHMF, defaults"] < 1.01 * errors["damped biases (1 to 25)"]
    assert ("Surprise SVD" in errors) == bool(importlib.util.find_spec("surprise"))


def test_the_best_setting_counts():
    train, test = planted().split(0.2, 0)
    poor, good = np.full(len(test), 9.0), test.values.astype(float)
    assert lowest_rmse(lambda *_: iter([poor, good]), train, test) == 0.0
    high = np.sqrt(np.mean((5.0 - test.values) ** 2))  # 9 is clipped to 5
    assert lowest_rmse(lambda *_: iter([poor]), train, test) == pytest.approx(high)


@pytest.mark.slow
def test_sets_and_rows(monkeypatch):
    folder = os.path.dirname(os.path.dirname(data("filmtrust/ratings.txt")))
    sets = {name: (ratings, seeds) for name, ratings, seeds in read_sets(folder)}
    sizes = [len(ratings) for ratings, _ in sets.values()]
    assert sizes == [35_494, 9_997, 49_929, 200_158, 77_541]
    assert [seeds for _, seeds in sets.values()] == [5, 2, 2, 2, 2]
    one = next(iter(sets.values()))[0]
    assert all(np.bincount(rows).min() > 0 for rows in (thin(one, 0.1).users, thin(one, 0.1).items))
    monkeypatch.setattr("gpukit.bench.ratings.make_predictors", lambda _: {"global mean": global_mean})
    rows = list(defaults(Conditions(cpu(), scale=0.05, data=folder)))
    assert len(rows) == 5 and [len(row.samples) for row in rows] == [5, 2, 2, 2, 2]
    assert all(row.data == "real" and f"{np.mean(row.samples):.4f}" in row.note for row in rows)
