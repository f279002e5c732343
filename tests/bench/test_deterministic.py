"""The benchmark of deterministic training on a handful of ratings: what it times is what it says."""

import numpy as np
import pytest

from gpukit.bench import deterministic as bench
from gpukit.bench.conditions import Conditions
from gpukit.device import cpu
from gpukit.ratings import synth_ratings


@pytest.mark.filterwarnings("ignore:.* of the neighbour slots are random")
def test_both_ways_are_trained_with_each_seed(monkeypatch):
    ratings = synth_ratings("ml-10m", 0.0003, 0)
    monkeypatch.setattr(bench, "movielens", lambda folder: ratings.split(0.1, seed=0))
    monkeypatch.setattr(bench, "SEEDS", range(2))
    asked, inner = [], bench.trained

    def trained(estimator, *given):
        asked.append((type(estimator).__name__, estimator.random_state, estimator.deterministic))
        return inner(estimator, *given)

    monkeypatch.setattr(bench, "trained", trained)
    rows = list(bench.deterministic(Conditions(cpu(), data=".")))
    ways = [(seed, way) for seed in range(2) for way in (False, True)]
    assert asked == [(kind, *way) for kind in ("MatrixFactorization", "LSHMF") for way in ways]
    whats = ("one epoch, deterministic,", "test RMSE, deterministic,")
    assert [row.what for row in rows] == [f"{what} {name}" for name in bench.models() for what in whats]
    assert all(len(row.samples) == 2 and np.isfinite(row.samples).all() and min(row.samples) > 0 for row in rows)
