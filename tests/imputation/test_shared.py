"""Imputation over ranks: the tensor of one process."""

import numpy as np
import pytest
from parallel.test_team import together

from gpukit.graphs import synth_graph
from gpukit.imputation import GraphImputer
from gpukit.imputation.shared import parts

WALK = {"weights": "slice", "center": "none", "device": "cpu"}
CLOSE = {"float64": 1e-10, "float32": 1e-5}


@pytest.fixture(autouse=True)
def any_size(monkeypatch):
    """Small tensors are shared out too."""
    monkeypatch.setattr(parts, "FEWEST", 1)


def graph(shape=(5, 4), N=30, rank=2, entries=False, seed=0):
    """A GraphTensor, 0 where missing."""
    made = synth_graph("random", N, shape, rank, 0.2, seed)
    if not entries:
        return made
    mask = np.random.default_rng(seed).random(made.truth.shape) > 0.2
    return made._replace(tensor=np.where(mask, made.truth, 0).astype(np.float32), mask=mask)


def fitted(size, data, **settings):
    """The models of all ranks."""
    done = together(size, lambda team: GraphImputer(**settings).fit(None if team.rank else data, team=team), 60.0)
    for one in done:
        if isinstance(one, Exception):
            raise one
    return done


def same(models, alone, close):
    """All ranks' models are one, and that of a single process to `close`."""
    size = np.linalg.norm(alone.completed_)
    for model in models:
        assert np.linalg.norm(model.completed_ - alone.completed_) <= close * size
        np.testing.assert_array_equal(model.completed_, models[0].completed_)
        np.testing.assert_array_equal(model.ranks_, alone.ranks_)
        assert len(model.history_.change) == len(alone.history_.change)
        assert (model.method_, model.rank_phase_) == (alone.method_, alone.rank_phase_)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("size, shape, entries", [(2, (5, 4), False), (4, (5, 4), True), (3, (30, 28), False)])
def test_ranks_have_the_tensor_of_one(size, shape, entries, dtype):
    data = graph(shape, entries=entries)
    alone = GraphImputer(**WALK, dtype=dtype).fit(data)
    same(fitted(size, data, **WALK, dtype=dtype), alone, CLOSE[dtype])
