"""Imputation over ranks gives the tensor of one process."""

import numpy as np
import pytest
from parallel.test_team import together
from support import thinned

from gpukit.errors import DataError
from gpukit.graphs import synth_graph
from gpukit.imputation import GraphImputer
from gpukit.imputation.distributed import share
from gpukit.parallel import TeamError

WALK = {"weights": "slice", "center": "none", "device": "cpu"}
CLOSE = {"float64": 1e-10, "float32": 1e-5}


@pytest.fixture(autouse=True)
def any_size(monkeypatch):
    """Distribute small tensors too."""
    monkeypatch.setattr(share, "FEWEST", 1)


def graph(shape=(5, 4), N=30, rank=2, entries=False, seed=0):
    """A GraphTensor, 0 where missing."""
    made = synth_graph("random", N, shape, rank, 0.2, seed)
    if not entries:
        return made
    mask = np.random.default_rng(seed).random(made.truth.shape) > 0.2
    return made._replace(tensor=np.where(mask, made.truth, 0).astype(np.float32), mask=mask)


def fitted(size, data, **settings):
    """Return the models of all ranks."""
    done = together(size, lambda team: GraphImputer(**settings).fit(None if team.rank else data, team=team))
    for one in done:
        if isinstance(one, Exception):
            raise one
    return done


def same(models, alone, close):
    """All ranks' models are equal, and close to that of a single process."""
    size = np.linalg.norm(alone.completed_)
    np.testing.assert_array_equal(models[0].ranks_, alone.ranks_)
    assert len(models[0].history_.change) == len(alone.history_.change)
    for model in models:
        assert np.linalg.norm(model.completed_ - alone.completed_) <= close * size
        np.testing.assert_array_equal(model.completed_, models[0].completed_)
        assert (model.method_, model.rank_phase_) == (alone.method_, alone.rank_phase_)


@pytest.mark.parametrize(
    "case, dtype",
    thinned([(2, (5, 4), False), (4, (5, 4), True), (3, (30, 28), False)], ["float64", "float32"], share=2),
)
def test_ranks_have_the_tensor_of_one(case, dtype):
    size, shape, entries = case
    data = graph(shape, entries=entries)
    alone = GraphImputer(**WALK, dtype=dtype).fit(data)
    same(fitted(size, data, **WALK, dtype=dtype), alone, CLOSE[dtype])


@pytest.mark.parametrize(
    "settings", [{"weights": "auto"}, {"weights": "auto", "center": "auto"}, {"basis_size": 12}], ids=str
)
def test_what_is_decided_on_hidden_values(settings):
    data, settings = graph(seed=5), {**WALK, **settings, "dtype": "float64"}
    alone = GraphImputer(**settings).fit(data)
    models = fitted(2, data, **settings)
    same(models, alone, 1e-10)
    assert [model.options_ for model in models] == [alone.options_] * 2
    if alone.plan_ is not None:
        assert [row.name for row in models[1].report_] == [row.name for row in alone.report_]


@pytest.mark.parametrize("factor", [1e-200, 1e200])
def test_very_large_and_very_small_numbers(factor):
    """As accurate as float32 permits for poorly determined slices.

    The factor rounds every number differently.
    """
    data = graph(seed=6)
    data = data._replace(tensor=factor * data.tensor.astype(np.float64), truth=None)
    alone = GraphImputer(**WALK).fit(data)
    for model in fitted(2, data, **WALK):
        np.testing.assert_allclose(
            model.completed_ / factor, alone.completed_ / factor, atol=2e-5 * np.abs(data.tensor).max() / factor
        )


def test_a_complete_tensor_and_one_that_is_too_small(monkeypatch):
    monkeypatch.setattr(share, "FEWEST", 1 << 16)
    data = graph(seed=7)
    with pytest.warns(UserWarning, match="nothing was shared out"):
        models = fitted(2, data, **WALK)
    for model in models:
        np.testing.assert_array_equal(model.completed_, GraphImputer(**WALK).fit(data).completed_)
    whole = data._replace(tensor=data.truth, mask=np.ones(len(data.mask), bool))
    with pytest.warns(UserWarning, match="nothing is missing"):
        models = fitted(2, whole, **WALK)
    for model in models:
        np.testing.assert_array_equal(model.completed_, data.truth)


@pytest.mark.slow
def test_another_method_is_rank_0s():
    data = graph(seed=8)
    with pytest.warns(UserWarning, match="'vertex-mean' filled in, by rank 0 itself"):
        models = fitted(2, data, method="vertex-mean", device="cpu")
    alone = GraphImputer(method="vertex-mean", device="cpu").fit(data)
    for model in models:
        np.testing.assert_array_equal(model.completed_, alone.completed_)
        assert model.method_ == "vertex-mean" and [row.name for row in model.report_] == [
            row.name for row in alone.report_
        ]


def test_bad_data_end_all():
    data = graph()
    bad = data._replace(tensor=np.full_like(data.tensor, np.inf))
    done = together(3, lambda team: GraphImputer(**WALK).fit(None if team.rank else bad, team=team))
    assert isinstance(done[0], DataError)
    assert all(isinstance(error, TeamError) and str(error) == str(done[0]) for error in done[1:])


def test_equal_parts():
    parts = share.equal_parts(9, 100, 4)
    assert parts.slices.tolist() == [0, 25, 50, 75, 100]
    assert parts.columns[0] == 0 and sorted(np.diff(parts.columns).tolist()) == [2, 2, 2, 3]
    assert share.can_share((1 << 16, 2, 2), 4, 2) and not share.can_share((1 << 16, 2, 2), 3, 2)
