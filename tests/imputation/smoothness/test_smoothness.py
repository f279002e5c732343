"""Smoothness over graph and time: dense solves, graph, weights, accuracy."""

from types import SimpleNamespace

import numpy as np
import pytest

from gpukit import GraphImputer
from gpukit.device import resolve
from gpukit.graphs.adjacency import as_adjacency, normalized_laplacian
from gpukit.imputation.problem import Problem
from gpukit.imputation.smoothness import method
from gpukit.imputation.smoothness.method import ConjugateGradients, Weights
from gpukit.persist import load_model
from imputation.auto.test_auto import N, T, ring, waves
from imputation.smoothness import inputs, naive


@pytest.mark.parametrize("lags, repeats", [((1,), ()), ((1, 4), (0.3,)), ((1, 3, 8), (0.5, 0.2))])
def test_the_answer_is_that_of_a_dense_solve(lags, repeats):
    observed, L, at = inputs.observed(lags=lags)
    weights = Weights(0.2, 0.3, 0.7, repeats)
    near, steady, together = method.laws(weights)
    whole = naive.matrix(L, observed.seen, at, lags, near, steady, together)
    expected = np.linalg.solve(whole, observed.values.ravel().astype(float)).reshape(observed.values.shape)
    np.testing.assert_allclose(method.diagonal(observed, near, steady, together).ravel(), np.diag(whole), rtol=1e-5)
    for start in (np.zeros(observed.values.shape), 3.0 * np.ones(observed.values.shape)):
        solver = ConjugateGradients(resolve("cpu"), observed, start)
        steps = method.solve(solver, weights, 1e-6)
        assert 3 < steps < 200
        np.testing.assert_allclose(solver.solution(), expected, atol=2e-5)
    assert method.solve(solver, weights, 1e-4) == 0
    near, steady, together = method.laws(weights._replace(steady=0.01))
    whole = naive.matrix(L, observed.seen, at, lags, near, steady, together)
    method.solve(solver, weights._replace(steady=0.01), 1e-6)
    expected = np.linalg.solve(whole, observed.values.ravel().astype(float)).reshape(observed.values.shape)
    np.testing.assert_allclose(solver.solution(), expected, atol=2e-5)


def test_edges_count_by_how_alike_their_ends_change():
    rng = np.random.default_rng(0)
    walk = np.cumsum(rng.normal(size=(2, 300)), axis=1)
    values = np.array([walk[0], walk[0] + 0.1 * rng.normal(size=300), walk[1], -walk[0], walk[1]])
    seen = rng.random(values.shape) > 0.2
    seen[4] = False
    row, column = np.array([0, 0, 0, 2]), np.array([1, 2, 3, 4])
    found = method.likeness(values, seen, row, column)
    pairs = [naive.likeness(values, seen, i, j) for i, j in ((0, 1), (0, 2), (0, 3))]
    usual = sum(n * r for n, r in pairs) / sum(n for n, _ in pairs)
    expected = [(n * r + method.PRIOR_CHANGES * usual) / (n + method.PRIOR_CHANGES) for n, r in pairs]
    np.testing.assert_allclose(found, [*expected, usual], rtol=1e-4)
    assert found[0] > 0.9 > 10 * found[1] and found[2] < 0.1
    adjacency = as_adjacency((np.column_stack((row, column)), None))
    plain, alike = normalized_laplacian(adjacency).toarray(), method.laplacian_of(adjacency, values, seen).toarray()
    assert alike[0, 1] < 1.5 * plain[0, 1] and alike[0, 2] > plain[0, 2]
    np.testing.assert_allclose(alike, alike.T)


@pytest.mark.slow
def test_gaps_are_filled_in_from_neighbours_that_move_alike(tmp_path):
    truth, seen = waves(), np.ones((N, T), bool)
    rng = np.random.default_rng(0)
    for vertex in range(N):
        for start in rng.integers(0, T - 15, 3):
            seen[vertex, start : start + 15] = False
    errors, model = {}, None
    for name in ("interpolation", "smoothness"):
        model = GraphImputer(method=name, device="cpu").fit(ring(), truth, seen)
        errors[name] = np.abs(model.completed_ - truth)[~seen].mean()
    assert errors["smoothness"] < 0.5 * errors["interpolation"]
    assert model.plan_.members[0][1]["together"] > 0
    model.save(tmp_path / "m")
    again = load_model(tmp_path / "m").set_params(device="cpu")
    np.testing.assert_array_equal(again.transform(truth, seen), model.completed_)
    short = again.transform(truth[:, :30], seen[:, :30])
    assert np.abs(short - truth[:, :30])[~seen[:, :30]].mean() < errors["interpolation"]


def problem(truth, seen, period=0):
    """Return the Problem of a table on the ring."""
    place, asked = SimpleNamespace(device=resolve("cpu")), SimpleNamespace(seed=0, metric="absolute")
    values, at = np.where(seen, truth, 0.0), np.arange(float(T))
    return Problem(as_adjacency(ring()), values, seen, at, period, (1, T), place, asked)


@pytest.mark.slow
def test_repeated_values_are_predicted_from_a_period_away():
    rng = np.random.default_rng(0)
    truth = np.tile(rng.normal(size=(N, 1, 20)), (1, 10, 1)).reshape(N, T) + 0.01 * rng.normal(size=(N, T))
    seen = np.ones((N, T), bool)
    seen[:, 90:97] = seen[3, 130:150] = False
    posed = problem(truth, seen)
    errors = []
    for period in (0, 20):
        some = posed._replace(period=period)
        (setting,) = method.settings(some)
        errors.append(np.abs(method.fill(some, setting) - truth)[~seen].mean())
    assert len(setting["repeats"]) == 1 and setting["repeats"][0] > 0.05 and errors[1] < 0.3 * errors[0]
    assert method.lags_of(posed._replace(period=10)) == [10, 70] and method.lags_of(posed) == []


def test_weights_are_those_that_err_least():
    truth, seen = waves(), np.random.default_rng(0).random((N, T)) > 0.3
    posed = problem(truth, seen)
    found = method.search_weights(posed)
    errors = [np.abs(method.fill(posed, w._asdict()) - truth)[~seen].mean() for w in (found, Weights(9, 9, 9, ()))]
    assert errors[0] < 0.2 * errors[1]


def test_a_search_begins_where_the_error_is_least(monkeypatch):
    truth, seen = waves(), np.random.default_rng(0).random((N, T)) > 0.3
    searches, start = [], method.start_search
    monkeypatch.setattr(method, "FACTORS", ())
    monkeypatch.setattr(method, "start_search", lambda *given: searches.append(start(*given)) or searches[-1])
    found, means = method.search_weights(problem(truth, seen)), [trial.mean for trial in searches[0].trials]
    assert len(means) == len(method.STARTS) and searches[0].run(found).mean == max(means) > min(means)


def test_a_search_ends_with_its_budget(monkeypatch):
    truth, seen, searches = waves(), np.random.default_rng(0).random((N, T)) > 0.3, []
    start = method.start_search
    monkeypatch.setattr(method, "MOST_TRIALS", len(method.STARTS))
    monkeypatch.setattr(method, "start_search", lambda *given: searches.append(start(*given)) or searches[-1])
    method.search_weights(problem(truth, seen))
    assert len(searches[0].results) == len(method.STARTS)


def test_steps_multiply_one_weight():
    weights = Weights(0.1, 0.2, 0.3, (0.5, 0.25))
    assert method.scale_weight("steady", weights, 4.0) == weights._replace(steady=0.8)
    assert method.scale_weight(1, weights, 4.0) == weights._replace(repeats=(0.5, 1.0))


def test_vertices_of_which_nothing_is_observed_have_a_value():
    truth, seen = waves(), np.ones((N, T), bool)
    seen[[2, 7]] = False
    posed = problem(truth, seen)
    out = method.fill(posed, method.settings(posed)[0])
    assert np.isfinite(out).all() and np.abs(out - truth)[~seen].mean() < 1.5


@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_numbers_of_any_size(scale):
    truth, seen = waves(), np.random.default_rng(0).random((N, T)) > 0.3
    one, other = problem(truth, seen), problem(scale * truth, seen)
    assert method.settings(other) == method.settings(one)
    setting = {"near": 0.001, "steady": 0.03, "together": 0.2, "repeats": []}
    np.testing.assert_allclose(method.fill(other, setting), scale * method.fill(one, setting), rtol=1e-3)


@pytest.mark.slow
def test_columns_that_nobody_sees_lie_between_those_beside_them():
    truth = np.linspace(0.0, 100.0, T) + np.arange(N)[:, None]
    seen = np.ones((N, T), bool)
    seen[:, 60:64] = seen[3, 100:140] = False
    posed = problem(truth, seen)
    np.testing.assert_allclose(method.level_of(posed)[0], truth.mean(axis=0), atol=0.5)
    np.testing.assert_allclose(method.fill(posed, method.settings(posed)[0])[~seen], truth[~seen], atol=1.5)


def test_vertices_are_measured_by_their_usual_change():
    rest, seen = np.zeros((3, 500), np.float32), np.ones((3, 500), bool)
    rest[0], rest[1] = np.tile([0, 2], 250), np.tile([0, 8], 250)
    seen[2] = seen[0, ::3] = False
    found = method.units(np.where(seen, rest, 0), seen)[:, 0]
    assert 2.0 < found[0] < 2.6 and 7.8 < found[1] < 8.0 and found[0] < found[2] < found[1]
    still = method.units(np.zeros_like(rest), seen)
    assert np.isfinite(still).all() and (still > 0).all()
