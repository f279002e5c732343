"""RankSVM over ranks: distributed queries, the result of one process."""

import numpy as np
import pytest
from parallel.test_team import together

from gpukit.ranking import RankSVM, feature_map
from gpukit.ranking.shared import queries_of_rank


def documents(queries, seed=0, features=6):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 30, queries)
    X = rng.standard_normal((sizes.sum(), features))
    y = rng.integers(0, 4, sizes.sum())
    return X, y, np.repeat(np.arange(queries), sizes)


def chosen(model):
    """Return chosen_, or None with a C that was given."""
    return getattr(model, "chosen_", None)


@pytest.mark.parametrize("size", [2, 4])
@pytest.mark.parametrize("solver", ["scan", "p-swx", "ost"])
@pytest.mark.parametrize("precondition", [True, False])
def test_ranks_have_the_answer_of_one(size, solver, precondition):
    X, y, qid = documents(23)
    settings = {"device": "cpu", "solver": solver, "precondition": precondition}
    settings["C"] = "auto" if solver == "scan" else 1.0  # chosen alike for any solver
    alone = RankSVM(**settings).fit(X, y, qid)
    done = together(size, lambda team: RankSVM(**settings).fit(X, y, qid, team=team))
    for model in done:
        np.testing.assert_allclose(model.coef_, alone.coef_, rtol=1e-10, atol=1e-12)
        assert model.objective_ == pytest.approx(alone.objective_, rel=1e-12)
        assert (model.n_pairs_, model.n_queries_) == (alone.n_pairs_, alone.n_queries_)
        np.testing.assert_array_equal(model.coef_, done[0].coef_)
        assert chosen(model) == chosen(done[0]) == chosen(alone) and model.C_ == alone.C_
        assert model.history_ == done[0].history_


@pytest.mark.parametrize("scale", ["minmax", "deviation"])
def test_features_are_scaled_by_all_queries(scale):
    X, y, qid = documents(9, seed=1)
    given = {"query_weight": np.random.default_rng(2).random(9)}
    given["sample_weight"] = np.random.default_rng(3).random(len(y)) if scale == "deviation" else None
    settings = {"device": "cpu", "C": 1.0, "scale": scale, "pair_weights": "gain" if scale == "deviation" else "equal"}
    alone = RankSVM(**settings).fit(X, y, qid, **given)
    for model in together(2, lambda team: RankSVM(**settings).fit(X, y, qid, **given, team=team)):
        np.testing.assert_allclose(model.coef_, alone.coef_, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("features", ["thresholds", "fourier", pytest.param("auto", marks=pytest.mark.slow)])
def test_maps_are_fitted_on_all_queries(features, monkeypatch):
    monkeypatch.setattr(feature_map, "WAVES", 20)
    X, y, qid = documents(15, seed=6)
    y = np.digitize(-np.abs(X[:, 0]), [-1.0, -0.5, -0.2])
    settings = {"features": features, "C": "auto" if features == "auto" else 1.0}
    alone = RankSVM(**settings).fit(X, y, qid)
    for model in together(2, lambda team: RankSVM(**settings).fit(X, y, qid, team=team)):
        np.testing.assert_allclose(model.coef_, alone.coef_, rtol=1e-6, atol=1e-9)
        for array, expected in zip(model.feature_map_, alone.feature_map_, strict=True):
            np.testing.assert_array_equal(array, expected)
        assert chosen(model) == chosen(alone) and alone.feature_map_ is not None


def test_a_rank_may_have_no_pairs():
    X, y, qid = documents(5, seed=3)
    y[qid > 0] = 1
    y[0] = 3
    alone = RankSVM(device="cpu").fit(X, y, qid)
    for model in together(4, lambda team: RankSVM(device="cpu").fit(X, y, qid, team=team)):
        np.testing.assert_allclose(model.coef_, alone.coef_, rtol=1e-10, atol=1e-12)


def test_a_path_of_C():
    X, y, qid = documents(15, seed=4)
    alone = RankSVM(device="cpu").fit_path((X, y, qid), (X, y, qid), grid="0.01,1")
    done = together(2, lambda team: RankSVM(device="cpu").fit_path((X, y, qid), (X, y, qid), grid="0.01,1", team=team))
    for model in done:
        assert model.C_ == alone.C_
        np.testing.assert_allclose(model.coef_, alone.coef_, rtol=1e-9, atol=1e-12)


def test_queries_are_shared_out_evenly_and_once():
    sizes = np.random.default_rng(5).integers(1, 200, 301)
    offsets = np.append(0, np.cumsum(sizes))
    for size in (1, 2, 3, 7):
        parts = [queries_of_rank(offsets, rank, size) for rank in range(size)]
        assert parts[0][0] == 0 and parts[-1][1] == 301
        assert all(one[1] == other[0] for one, other in zip(parts, parts[1:]))
        counts = [offsets[last] - offsets[first] for first, last in parts]
        assert max(counts) < 1.1 * min(counts) + 400


def test_fewer_queries_than_ranks():
    parts = [queries_of_rank(np.array([0, 3]), rank, 3) for rank in range(3)]
    assert parts[0][0] == 0 and parts[-1][1] == 1 and sum(last - first for first, last in parts) == 1
