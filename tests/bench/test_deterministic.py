"""The benchmark of deterministic training on a few ratings."""

import numpy as np
import pytest

from gpukit.bench import Conditions
from gpukit.bench import ratings as bench
from gpukit.device import cpu
from gpukit.ratings import synth_ratings


@pytest.mark.filterwarnings("ignore:.* of the neighbour slots are random")
def test_both_kinds_are_trained_with_each_seed(monkeypatch):
    ratings = synth_ratings("ml-10m", 0.0003, 0)
    monkeypatch.setattr(bench, "split_movielens", lambda folder: ratings.split(0.1, seed=0))
    monkeypatch.setattr(bench, "SEEDS", range(2))
    calls, train_model = [], bench.time_training

    def record(estimator, *arguments):
        calls.append((type(estimator).__name__, estimator.random_state, estimator.deterministic))
        return train_model(estimator, *arguments)

    monkeypatch.setattr(bench, "time_training", record)
    rows = list(bench.deterministic(Conditions(cpu(), data=".")))
    kinds = [(seed, kind) for seed in range(2) for kind in (False, True)]
    assert calls == [(name, *kind) for name in ("MatrixFactorization", "LSHMF") for kind in kinds]
    whats = ("one epoch, deterministic,", "test RMSE, deterministic,")
    assert [row.what for row in rows] == [
        f"{what} {name}" for name in ("CUSGD++ F=32", "CULSH-MF F=32 K=32") for what in whats
    ]
    assert all(len(row.samples) == 2 and np.isfinite(row.samples).all() and min(row.samples) > 0 for row in rows)
