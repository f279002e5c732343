"""Large graphs: methods are judged on patches, no basis is computed, no step takes a call per vertex."""

import cProfile

import numpy as np
import pytest
from scipy import sparse

from gpukit import GraphImputer, _pool
from gpukit.errors import DataError
from gpukit.graphs import basis
from gpukit.imputation import local, problem, run
from gpukit.imputation.auto import run as auto
from gpukit.imputation.auto.judging import KINDS
from gpukit.imputation.problem import Problem, Units, choose_patches
from gpukit.imputation.smoothness import method as smoothness

T = 24


def grid(side):
    """The adjacency of a square grid."""
    line = sparse.diags_array([np.ones(side - 1)] * 2, offsets=[-1, 1], shape=(side, side))
    return sparse.kronsum(line, line, format="csr")


def waves(side, seed=0):
    """(truth, given) of a grid of smooth waves with noise: a sixth is hidden, and a twentieth of the vertices whole."""
    rng, at = np.random.default_rng(seed), np.linspace(0, 6, side)
    y, x, t = np.repeat(at, side)[:, None], np.tile(at, side)[:, None], np.arange(T)
    truth = 20 + 3 * np.sin(x + 0.2 * t) + 2 * np.cos(1.3 * y - 0.15 * t)
    given = truth + 0.1 * rng.normal(size=truth.shape)
    given[rng.random(given.shape) < 1 / 6] = np.nan
    given[rng.random(len(given)) < 0.05] = np.nan
    return truth, given


@pytest.fixture
def small(monkeypatch):
    """Patches of 400 vertices for every graph with more, on one core without other threads."""
    whole = Problem.patches
    monkeypatch.setattr(Problem, "patches", lambda self, numbers: whole(self, 0))
    for module in (problem, local):
        monkeypatch.setattr(module, "FEWEST_VERTICES", 400)
    monkeypatch.setattr(problem, "MOST_VALUES", 500)
    monkeypatch.setattr(_pool, "cores", lambda: 1)


def test_patches_keep_most_neighbours():
    A = grid(80)
    rows = choose_patches(A, 1600, np.random.default_rng(0))
    assert len(rows) == 1600 and (np.diff(rows) > 0).all()
    assert A[rows][:, rows].nnz > 0.8 * A[rows].nnz


@pytest.mark.parametrize("count", [1, 7, 500, 999, 1000])
def test_patches_of_many_components_and_isolated_vertices(count):
    edges = np.arange(0, 600, 2)
    A = sparse.coo_array((np.ones(300), (edges, edges + 1)), shape=(1000, 1000)).tocsr()
    rows = choose_patches((A + A.T).tocsr(), count, np.random.default_rng(0))
    assert len(np.unique(rows)) == count
    assert abs(np.count_nonzero(rows >= 600) - 0.4 * count) <= 1


def test_a_problem_of_patches(small):
    _, given = waves(30)
    seen = np.isfinite(given)
    units = Units(np.arange(900.0), 1 + np.arange(900.0))
    options = GraphImputer().check()
    A, usual = grid(30), GraphImputer(device="cpu").prepare(grid(30), given).place
    whole = Problem(A, np.nan_to_num(given), seen, np.arange(T), 0, (1, T), usual, options, units)
    part = whole.patches(0)
    rows = part.units.level.astype(int)
    assert part.values.shape == (400, T) and part.shape == (1, T)
    np.testing.assert_array_equal(part.values, whole.values[rows])
    np.testing.assert_array_equal(part.seen, seen[rows])
    np.testing.assert_array_equal(part.units.size, units.size[rows])
    assert (part.adjacency != A[rows][:, rows]).nnz == 0 and part.place.basis.count == 400
    few = whole._replace(seen=seen & (np.arange(T) == 3) & (np.arange(900) % 9 == 0)[:, None])
    assert few.patches(0) is few, "a share of few values would be too few"


def test_graphs_of_usual_sizes_are_judged_whole():
    seen = np.ones((problem.FEWEST_VERTICES, 2), bool)
    whole = Problem(None, np.zeros(seen.shape), seen, None, 0, (1, 2), None, None)
    assert whole.patches(0) is whole


def count_calls(function, *arguments):
    """The number of calls, of Python's and of compiled functions, during function(*arguments)."""
    with cProfile.Profile() as profile:
        function(*arguments)
    return sum(entry.callcount for entry in profile.getstats())


@pytest.fixture
def bare(monkeypatch):
    """Only methods that need no Fourier basis, as on graphs above the limits of the others; a basis fails the test."""
    monkeypatch.setattr(basis, "fourier_basis", lambda *arguments, **more: pytest.fail("a basis was computed"))
    for module in (auto, run):
        monkeypatch.setattr(module, "competes", lambda problem: False)
    for name in ("kriging", "regression", "regularized-em", "spectral"):
        monkeypatch.setitem(auto.BY_NAME, name, auto.BY_NAME[name]._replace(suits=lambda problem: False))


SLOW = [pytest.param(name, marks=pytest.mark.slow) for name in ("vertex-median", "two-way-mean", "trend", "smoothness")]


@pytest.mark.parametrize("name", ["interpolation", "local", *SLOW])
def test_calls_do_not_grow_with_the_vertices(small, bare, monkeypatch, name):
    """A graph of 22,000 more vertices takes less than a call more for each of them."""
    monkeypatch.setattr(smoothness, "search_weights", lambda problem: smoothness.Weights(0.001, 0.03, 0.2, ()))
    fit = GraphImputer(method=name, device="cpu").fit
    fit(grid(24), waves(24)[1][:, :8])  # imports and compiles
    few, many = (count_calls(fit, grid(side), waves(side)[1]) for side in (60, 160))
    assert many - few < 160**2 - 60**2, (few, many)


@pytest.mark.slow
def test_auto_judges_on_patches(small, bare):
    truth, given = waves(60)
    model = GraphImputer(device="cpu").fit(grid(60), given)
    lacking = np.isnan(given)
    assert np.abs(model.completed_ - truth)[lacking].mean() < 0.16  # 0.116 of smoothness that is judged on all
    assert 0.8 < (np.abs(model.completed_ - truth) <= 1.645 * model.deviation_)[lacking].mean()
    assert {row.name for row in model.report_} >= {"interpolation", "local", "smoothness"}


def test_vertices_share_coefficients_in_large_graphs(small):
    truth, given = waves(30)
    problem = GraphImputer(method="local", device="cpu").prepare(grid(30), given).problem()
    shapes, learn = [], local.learn

    def note(*arguments):
        shapes.append(learn(*arguments))
        return shapes[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(local, "learn", note)
        found = local.fill(problem, {"neighbors": 4})
    assert {len(one) for one in shapes} == {KINDS}
    gaps = np.isnan(given) & ~np.isnan(given).all(axis=1, keepdims=True)
    assert np.abs(found - truth)[gaps].mean() < 0.15


@pytest.mark.parametrize(
    ("name", "reason"), [("kriging", "at most 3,000 vertices"), ("regression", "N^3"), ("regularized-em", "N^2")]
)
def test_methods_for_small_graphs_refuse_before_they_try(monkeypatch, name, reason):
    monkeypatch.setattr(auto, "try_methods", lambda *arguments: pytest.fail("methods were tried"))
    given = waves(60)[1]
    with pytest.raises(DataError) as caught:
        GraphImputer(method=name, device="cpu").fit(grid(60), given)
    text = str(caught.value)
    assert reason in text and "3,600 vertices of 24 columns" in text and "--method auto" in text and "\n" not in text
