"""The local regression: twins against plain numpy, and what it is for."""

from types import SimpleNamespace

import numpy as np
import pytest

from gpukit import GraphImputer
from gpukit.imputation.local import alike, cpu, regression, twins
from gpukit.imputation.local.learning import limits_of, period_away, ranks, within
from imputation.local import inputs, naive
from imputation.test_auto import N, T, ring, waves


def test_describe():
    ground, seen = inputs.ground()
    vertex, column = inputs.places(seen)
    out, base = np.full((len(vertex), 6 + 4 * 3), np.nan, np.float32), np.full(len(vertex), np.nan, np.float32)
    twins.describe(*ground, vertex, column, out, base)
    values, _, _, at, series, near = (part.astype(float) if part.dtype.kind == "f" else part for part in ground)
    for i, (v, t) in enumerate(zip(vertex, column)):
        x, point = naive.features(values, seen, at, series, near, v, t)
        np.testing.assert_allclose(out[i], x, atol=2e-6)
        np.testing.assert_allclose(base[i], point, atol=1e-6)


@pytest.mark.parametrize("rounds", [0, 1, 4])
@pytest.mark.parametrize("piece, pieces", [(1024, 4096), (30, 2), (7, 1)])
def test_regress(rounds, piece, pieces, monkeypatch):
    monkeypatch.setattr(regression, "PIECE", piece)
    monkeypatch.setattr(regression, "PIECES", pieces)
    features, targets, first, start, group = inputs.groups([40, 0, 3, 90, 0], 7)
    out = regression.regress(cpu.Session(), features, targets, first, start, group, 5.0, rounds)
    for g in range(len(group)):
        some = slice(first[g], first[g + 1])
        X, y = features[some].astype(float), targets[some].astype(float)
        expected = naive.regression(X, y, start[group[g]], 5.0, rounds) if len(y) else start[group[g]]
        np.testing.assert_allclose(out[g], expected, rtol=1e-6, atol=1e-8)


def test_rows_of_several_parts_in_an_order():
    parts = [np.arange(8, dtype=np.float32).reshape(4, 2), np.arange(8, 14, dtype=np.float32).reshape(3, 2)]
    order = np.array([6, 0, 3, 4, 1])
    np.testing.assert_array_equal(cpu.Session().joined(parts, order), np.concatenate(parts)[order])


def test_answer():
    features, targets, _, start, _ = inputs.groups([30], 5)
    group, out = (np.arange(30) % 2).astype(np.int32), np.empty(30)
    twins.answer(features, targets, group, start, out)
    np.testing.assert_allclose(out, targets + (features * start[group]).sum(axis=1), rtol=1e-9)


def test_series_that_are_alike():
    rng = np.random.default_rng(0)
    series = np.repeat(rng.normal(size=(3, 50)), 2, axis=0) + 0.01 * rng.normal(size=(6, 50))
    alive = np.array([True] * 5 + [False])
    found = alike.alike(series.astype(np.float32), alive, None, 4)
    assert found[:, 0].tolist()[:4] == [1, 0, 3, 2] and (found[:, :4] != np.arange(6)[:, None]).all()
    assert not (found == 5).any()


def test_of_many_vertices_neighbours_are_compared(monkeypatch):
    from scipy import sparse

    monkeypatch.setattr(alike, "ALL", 3)
    series = np.array([[0, 1, 0, 1], [0, 1, 0, 2], [1, 0, 1, 0], [0, 1, 1, 1]], np.float32)
    adjacency = sparse.csr_matrix(np.array([[0, 0, 1, 1], [0, 0, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0]], float))
    assert alike.alike(series, np.ones(4, bool), adjacency, 2).tolist() == [[3, 2], [1, 1], [0, 2], [0, 3]]


def test_a_period_away():
    series = np.arange(7.0)[None]
    np.testing.assert_allclose(period_away(series, 3), [[3, 4, 5, 3, 1, 2, 3]])


def test_ranks():
    assert ranks(np.array([1, 1, 4, 4, 4, 9])).tolist() == [0, 1, 0, 1, 2, 0] and len(ranks(np.zeros(0))) == 0


@pytest.mark.parametrize("metric", ["absolute", "squared"])
def test_gaps_are_filled_in_from_others_meanwhile(metric):
    truth, seen = waves(), np.ones((N, T), bool)
    rng = np.random.default_rng(0)
    for vertex in range(N):
        for start in rng.integers(0, T - 15, 3):
            seen[vertex, start : start + 15] = False
    errors = {}
    for method in ("local", "interpolation"):
        model = GraphImputer(method=method, metric=metric, device="cpu").fit(ring(), truth, seen)
        errors[method] = np.abs(model.completed_ - truth)[~seen].mean()
    assert errors["local"] < 0.4 * errors["interpolation"]


def test_answers_far_beyond_a_series_are_not_believed():
    values = np.array([[1.0, 3, 99, 2], [-4, 0, 0, 99]])
    limits = limits_of(SimpleNamespace(seen=values < 50, values=values))
    np.testing.assert_allclose(limits, [[0.5, 3.5], [-5, 1]])
    answers, base = np.array([3.5, 3.6, -5.1, np.nan, np.inf]), np.arange(5.0)
    np.testing.assert_array_equal(within(answers, base, limits[[0, 0, 1, 0, 1]]), [3.5, 1, 2, 3, 4])
