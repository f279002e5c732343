"""Kriging against dense solves and explicit leave-one-out errors."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import fft

from gpukit import GraphImputer
from gpukit.graphs.adjacency import as_adjacency, normalized_laplacian
from gpukit.imputation import kriging
from gpukit.imputation import kriging as cov
from imputation.auto.test_auto import T, waves

COUNT = 14


@pytest.fixture(scope="module")
def laplacian():
    from graphs import naive

    return normalized_laplacian(as_adjacency(naive.random_graph(COUNT, 0.4, 1) + 0.1 * naive.path_graph(COUNT)))


def dense(K, seen, tau, values):
    """Predict column by column, with the mean by generalized least squares."""
    out = np.empty((len(K), values.shape[1]))
    for column in range(values.shape[1]):
        S, y, one = K[np.ix_(seen, seen)] + tau * np.eye(len(seen)), values[:, column], np.ones(len(seen))
        mean = one @ np.linalg.solve(S, y) / (one @ np.linalg.solve(S, one))
        out[:, column] = mean + K[:, seen] @ np.linalg.solve(S, y - mean)
    return out


@pytest.mark.parametrize("nu", [1.0, 2.0, 4.0])
def test_the_covariance_is_that_of_the_spectrum(laplacian, nu):
    values, vectors = np.linalg.eigh(laplacian.toarray())
    K = (vectors * (1.0 + 3.0 * values) ** -nu) @ vectors.T
    np.testing.assert_allclose(cov.covariance(laplacian, 3.0, nu), K / np.mean(np.diag(K)), atol=1e-12)


def test_predictions_are_the_dense_solution(laplacian):
    K, seen = cov.covariance(laplacian, 3.0, 2.0), np.arange(0, COUNT, 2)
    np.testing.assert_allclose(np.mean(np.diag(K)), 1.0)
    values = np.random.default_rng(0).normal(size=(len(seen), 3))
    np.testing.assert_allclose(
        cov.predict(K, cov.solve_system(K, seen, 0.1), seen, values), dense(K, seen, 0.1, values)
    )


def test_errors_are_those_of_leaving_each_out(laplacian):
    K, seen = cov.covariance(laplacian, 3.0, 2.0), np.arange(COUNT - 3)
    values = np.random.default_rng(0).normal(size=(len(seen), 2))
    errors = cov.leave_one_out_errors(cov.solve_system(K, seen, 0.1), values)
    for at in seen:
        rest = np.delete(seen, at)
        expected = values[at] - dense(K, rest, 0.1, values[rest])[at]
        np.testing.assert_allclose(errors[at], expected, rtol=1e-8)


def test_variances_are_those_of_drawn_fields(laplacian):
    rng, tau, seen = np.random.default_rng(0), 0.2, np.arange(0, COUNT, 2)
    K = cov.covariance(laplacian, 3.0, 2.0)
    root = np.linalg.cholesky(K + 1e-9 * np.eye(COUNT))
    fields = root @ rng.normal(size=(COUNT, 20_000)) + np.sqrt(tau) * rng.normal(size=(COUNT, 20_000)) + 5.0
    found = cov.solve_system(K, seen, tau)
    errors = fields - cov.predict(K, found, seen, fields[seen])
    hidden = np.setdiff1d(np.arange(COUNT), seen)
    np.testing.assert_allclose(errors[hidden].var(axis=1), cov.variance(K, found, seen, tau)[hidden], rtol=0.05)


def test_the_setting_with_which_fields_were_drawn_is_near_the_best(laplacian):
    rng, K = np.random.default_rng(0), cov.covariance(laplacian, 10.0, 2.0)
    fields = np.linalg.cholesky(K + 1e-9 * np.eye(COUNT)) @ rng.normal(size=(COUNT, 400))
    smooth = cov.best_parameters(laplacian, np.arange(COUNT), [fields, rng.normal(size=(COUNT, 400))], "squared")
    assert smooth[0][2] <= 0.03 and smooth[1][2] == max(tau for _, _, tau in cov.GRID)


@pytest.mark.slow
@pytest.mark.parametrize("ordered", [True, False])
def test_unobserved_vertices_are_predicted_from_the_others(ordered):
    truth = waves()
    A = np.exp(-np.abs(np.subtract.outer(np.arange(12), np.arange(12))))
    truth -= truth.mean(axis=1, keepdims=True)
    if not ordered:
        truth = truth[:, np.random.default_rng(3).permutation(T)]
    seen = np.ones(12, bool)
    seen[[3, 7]] = False
    errors = {}
    for method in ("kriging", "vertex-mean"):
        model = GraphImputer(method=method, device="cpu").fit(A, truth, seen)
        errors[method] = np.abs(model.completed_ - truth)[~seen].mean()
    assert errors["kriging"] < 0.7 * errors["vertex-mean"]


def test_each_band_has_its_own_covariance(laplacian, monkeypatch):
    """Bands that share one, and one between them that does not."""
    rng, count = np.random.default_rng(0), 12
    whole, alive = rng.normal(size=(COUNT, count)), np.arange(2, COUNT)
    monkeypatch.setattr(kriging, "complete_values", lambda problem: whole)
    seen = np.ones((COUNT, count), bool)
    seen[:2] = False
    problem = SimpleNamespace(seen=seen, place=SimpleNamespace(basis=SimpleNamespace(laplacian=laplacian)))
    bands = [[0, 3.0, 2.0, 0.1], [4, 30.0, 1.0, 0.1], [8, 3.0, 2.0, 0.3]]
    expected = np.empty((COUNT, count))
    for first, rho, nu, tau in bands:
        K, part = cov.covariance(laplacian, rho, nu), slice(first, first + 4)
        expected[:, part] = dense(K, alive, tau, whole[alive, part])
    found = kriging.in_time(problem, {"bands": bands})
    np.testing.assert_allclose(found[:2], fft.idct(expected, axis=1, norm="ortho")[:2])
    assert np.isnan(found[2:]).all()
