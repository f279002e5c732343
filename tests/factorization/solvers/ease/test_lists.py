"""Regressions of items on their neighbours against the oracle; models of such weights from outside."""

import numpy as np
import pytest

from factorization.implicit.planted import clicks
from factorization.solvers.ease import naive
from factorization.solvers.ease.inputs import regressions
from gpukit import load_model
from gpukit.device import cpu
from gpukit.errors import ModelError
from gpukit.factorization import LSHMF
from gpukit.factorization.constants import RULES
from gpukit.factorization.implicit import prepared
from gpukit.factorization.model.state import weights_matrix
from gpukit.factorization.solvers import ease, ease_twins
from gpukit.persist import load_arrays, save_arrays
from gpukit.ratings import Ratings

SHAPES = [((1, 2), 1), ((5, 3), 2), ((31, 12), 7), ((9, 40), 31), ((40, 40), 32), ((70, 45), 33)]


def expected_of(X, neighbors, ridge):
    """Return the weights (N, slots) of the oracle."""
    expected = np.zeros(neighbors.shape)
    for item, own in enumerate(neighbors):
        own = own[own >= 0]
        expected[item, : len(own)] = naive.regression(X, item, own, ridge)
    return expected


@pytest.mark.parametrize("shape, slots", SHAPES)
def test_regressions_are_those_of_the_definition(shape, slots):
    X, neighbors, starts, users = regressions(shape, slots)
    found = np.full(neighbors.shape, np.nan, np.float32)
    ease_twins.regress_on_neighbors(neighbors, starts, users, shape[0], 3.0, found)
    np.testing.assert_allclose(found, expected_of(X, neighbors, 3.0), rtol=1e-4, atol=1e-5)


def test_with_all_other_items_the_weights_are_those_of_ease():
    """Every two items have a user in common."""
    X = np.random.default_rng(3).random((50, 23)) < 0.5
    users, items = np.nonzero(X)
    columns = users.astype(np.int32), items.astype(np.int32), np.ones(len(users), np.float32)
    table = Ratings(*columns, *map(np.arange, X.shape))
    found = ease.solve_lists(table, 4.0, 22, cpu()).toarray()
    np.testing.assert_allclose(found, naive.weights(X, 4.0), rtol=1e-4, atol=1e-5)
    few = ease.solve_lists(table, 4.0, 5, cpu())
    assert (np.diff(few.tocsc().indptr) == 5).all()


@pytest.fixture
def without_memory(monkeypatch):
    """No memory for all weights, and lists of seven."""
    monkeypatch.setattr(prepared, "available_memory", lambda: 12 * 60**2 - 1)
    monkeypatch.setattr(RULES, "weight_neighbors", 7)


def fitted(**parameters):
    """Return a model of item weights of the planted clicks."""
    return LSHMF(**{"solver": "ease", "regularization": 4.0, "device": "cpu", **parameters}).fit(clicks()[0])


def test_a_model_of_lists_answers_like_one_of_the_same_matrix(without_memory, tmp_path):
    train, _ = clicks()
    model = fitted()
    state = model._state
    assert len(state.weight_items) == len(state.item_weights) <= 7 * 60 and len(state.weight_starts) == 61
    B = weights_matrix(state).toarray()
    model.save(tmp_path / "a")
    loaded, same = load_model(tmp_path / "a"), fitted()
    same.set_fitted(
        state._replace(item_weights=B, weight_starts=state.weight_starts[:0], weight_items=state.weight_items[:0]),
        *(model._rated, model._scale, model.user_ids_, model.item_ids_),
    )
    for made in (model, loaded):
        np.testing.assert_allclose(made.recommend(n=6)[1], same.recommend(n=6)[1], atol=1e-5)
        pairs = train.user_ids[np.arange(120)], train.item_ids[np.arange(120) % 60]
        np.testing.assert_allclose(made.predict(pairs), same.predict(pairs), atol=1e-5)
    user, item = train.user_ids[8], model.recommend([train.user_ids[8]], n=1)[0][0, 0]
    parts = loaded.explain(user, item)
    assert parts.prediction == pytest.approx(float(model.predict(([user], [item]))[0]), abs=1e-5)
    assert sum(one.share for one in parts.rated) + parts.item_bias == pytest.approx(parts.total)
    mine = train.item_ids[train.items[train.users == 8]].tolist()
    np.testing.assert_allclose(loaded.recommend_for(mine, n=4)[2], same.recommend_for(mine, n=4)[2], atol=1e-5)
    assert np.array_equal(loaded.similar_items(8, n=3, by="factors")[0], same.similar_items(8, n=3, by="factors")[0])
    loaded.partial_fit(([user, 10_000], [int(item), 3]))
    assert loaded._state.weight_items.size and loaded.recommend([10_000], n=2)[0].shape == (1, 2)


def test_damaged_lists_are_refused(without_memory, tmp_path):
    path = tmp_path / "a"
    fitted().save(path)
    header, arrays = load_arrays(path)
    starts, items = arrays["state.weight_starts"], arrays["state.weight_items"]
    strange = items.copy()
    strange[3] = 60
    for name, wrong in (("items", strange), ("items", items[:-1]), ("starts", starts[:-1]), ("starts", starts[::-1])):
        save_arrays(path, header, arrays | {f"state.weight_{name}": np.ascontiguousarray(wrong)})
        with pytest.raises(ModelError, match="weight"):
            load_model(path)


def test_lists_are_added_where_all_weights_would_be(without_memory):
    """They are chosen with the same work; other weights are chosen if memory suffices."""
    train, _ = clicks()
    model = LSHMF(device="cpu").fit(train)
    assert any(row["predictor"] == "ials and ease" for row in model.trials_)


def test_too_little_memory_for_lists_is_reported_before_the_solution(without_memory, monkeypatch):
    monkeypatch.setattr(ease, "memory_of_lists", lambda n_items, n_neighbors: 1 << 60)
    with pytest.raises(MemoryError, match="Solving for 7 weights of each of 60 items needs 1073741824.00 GiB"):
        fitted()
