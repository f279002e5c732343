"""The local regression: CPU twins against numpy, and accuracy."""

from types import SimpleNamespace

import numpy as np
import pytest

from gpukit import GraphImputer
from gpukit.imputation.auto.masking import Hidden
from gpukit.imputation.constants import VERTEX_RIDGE
from gpukit.imputation.local import cpu, regression, twins
from gpukit.imputation.local import method as local
from gpukit.imputation.local import method as similarity
from gpukit.imputation.local.method import folds_for, limits_of, period_away, within
from gpukit.imputation.local.regression import KINDS, HiddenValues, Table, mean_squares
from imputation.auto.test_auto import N, T, asked, ring, waves
from imputation.local import inputs, naive


def test_describe():
    predictors, seen = inputs.predictors()
    vertex, column = inputs.places(seen)
    out, base = np.full((len(vertex), 6 + 4 * 3), np.nan, np.float32), np.full(len(vertex), np.nan, np.float32)
    twins.describe(*predictors, vertex, column, out, base)
    values, _, _, at, series, near = (part.astype(float) if part.dtype.kind == "f" else part for part in predictors)
    for i, (v, t) in enumerate(zip(vertex, column)):
        x, point = naive.features(values, seen, at, series, near, v, t)
        np.testing.assert_allclose(out[i], x, atol=2e-6)
        np.testing.assert_allclose(base[i], point, atol=1e-6)


@pytest.mark.parametrize("rounds", [0, 1, 4])
@pytest.mark.parametrize("piece, pieces", [(1024, 4096), (30, 2), (7, 1)])
def test_regress(rounds, piece, pieces, monkeypatch):
    monkeypatch.setattr(regression, "PIECE", piece)
    monkeypatch.setattr(regression, "PIECES", pieces)
    features, targets, first, start, pull, group = inputs.groups([40, 0, 3, 90, 0], 7)
    values = regression.Sorted(features, targets, first)
    out = regression.regress(cpu, values, start, pull, group, rounds)
    for g in range(len(group)):
        some = slice(first[g], first[g + 1])
        X, y = features[some].astype(float), targets[some].astype(float)
        expected = naive.regression(X, y, start[group[g]], pull[group[g]], rounds) if len(y) else start[group[g]]
        np.testing.assert_allclose(out[g], expected, rtol=1e-6, atol=1e-8)


def test_a_part_does_not_see_what_it_hides():
    values, seen, hidden = waves(), np.ones((N, T), bool), np.zeros((N, T), bool)
    seen[0, 3], hidden[1, 10:14], hidden[2, 5] = False, True, True
    part = local.part_of(asked(values, seen), Hidden(hidden, hidden))
    np.testing.assert_array_equal(part.hidden, hidden)
    np.testing.assert_array_equal(part.problem.seen, seen & ~hidden)
    np.testing.assert_allclose(part.series[1, 10:14], np.interp(range(10, 14), [9, 14], values[1, [9, 14]]), rtol=1e-5)
    assert (part.before[1, 12], part.after[1, 12]) == (9, 14)


def test_rows_of_several_parts_in_an_order():
    parts = [np.arange(8, dtype=np.float32).reshape(4, 2), np.arange(8, 14, dtype=np.float32).reshape(3, 2)]
    order = np.array([6, 0, 3, 4, 1])
    np.testing.assert_array_equal(cpu.join(parts, order), np.concatenate(parts)[order])


def test_answer():
    features, targets, _, start, *_ = inputs.groups([30], 5)
    group, out = (np.arange(30) % 2).astype(np.int32), np.empty(30)
    twins.answer(features, targets, group, start, out)
    np.testing.assert_allclose(out, targets + (features * start[group]).sum(axis=1), rtol=1e-9)


def test_series_that_are_alike():
    rng = np.random.default_rng(0)
    series = np.repeat(rng.normal(size=(3, 50)), 2, axis=0) + 0.01 * rng.normal(size=(6, 50))
    alive = np.array([True] * 5 + [False])
    series += 5 * np.arange(6)[:, None]  # levels have no effect
    found = similarity.most_similar(series.astype(np.float32), alive, None, 4)
    assert found[:, 0].tolist()[:4] == [1, 0, 3, 2] and (found[:, :4] != np.arange(6)[:, None]).all()
    assert not (found == 5).any()


def test_of_many_vertices_neighbours_are_compared(monkeypatch):
    from scipy import sparse

    monkeypatch.setattr(similarity, "ALL", 3)
    series = np.array([[0, 1, 0, 1], [0, 1, 0, 2], [1, 0, 1, 0], [0, 1, 1, 1]], np.float32)
    adjacency = sparse.csr_matrix(np.array([[0, 0, 1, 1], [0, 0, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0]], float))
    assert similarity.most_similar(series, np.ones(4, bool), adjacency, 2).tolist() == [[3, 2], [1, 1], [0, 2], [0, 3]]
    assert similarity.most_similar(series, np.arange(4) < 3, adjacency, 2)[0].tolist() == [
        2,
        3,
    ]  # the last one has no values


def test_a_period_away():
    series = np.arange(7.0)[None]
    np.testing.assert_allclose(period_away(series, 3), [[3, 4, 5, 3, 1, 2, 3]])


@pytest.mark.slow
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


def folds(slopes, count, noise, size=1, seed=0):
    """Return three HiddenValues of one kind.

    Targets are a vertex's slope times the sum of features.
    """
    rng, out = np.random.default_rng(seed), []
    for _ in range(3):
        vertex = np.repeat(np.arange(len(slopes)), count)
        x = rng.normal(size=(len(vertex), size)).astype(np.float32)
        y = x.sum(axis=1) * slopes[vertex] + noise * rng.normal(size=len(vertex))
        out.append(HiddenValues(x, np.zeros(len(vertex), np.float32), y.astype(np.float32), 2 * len(slopes) + vertex))
    return out


@pytest.mark.parametrize("metric", ["absolute", "squared"])
def test_vertices_are_drawn_together_as_far_as_they_are_alike(metric):
    table = Table(cpu, 200, metric, np.random.default_rng(0))
    slopes = {"alike": np.full(200, 2.0), "apart": np.linspace(-20, 20, 200)}
    found = {name: table.coefficients(folds(of, 60, 1.0)).reshape(KINDS, 200)[2] for name, of in slopes.items()}
    spread = np.std(found["alike"])
    assert spread < 0.95 / np.sqrt(180) and np.abs(found["alike"] - 2.0).max() < 5 * spread
    slope = np.polyfit(slopes["apart"], found["apart"], 1)[0]
    if metric == "squared":
        assert slope == pytest.approx(180 / (180 + VERTEX_RIDGE), abs=0.05)
    else:
        assert 0.5 < slope < 1


def test_a_feature_that_a_vertex_has_not_shown_keeps_the_coefficient_of_all():
    """The coefficient is not estimated from its few values.

    Such a coefficient would be random, and far off for features of the usual size.
    """
    some = folds(np.full(20, 2.0), 60, 0.1)
    for fold in some:
        of_first = fold.group == 2 * 20
        fold.features[of_first] *= 1e-3
        fold.targets[of_first] = np.random.default_rng(1).normal(size=of_first.sum())
    table = Table(cpu, 20, "squared", np.random.default_rng(0))
    found = table.coefficients(some).reshape(KINDS, 20)
    np.testing.assert_allclose(found[2], 2.0, atol=0.1)


def test_values_that_are_far_off_are_heeded_by_squares_alone():
    some = folds(np.full(20, 2.0), 60, 0.1)
    for fold in some:
        fold.targets[::5] = -20 * fold.features[::5, 0]
    found = {}
    for metric in ("absolute", "squared"):
        table = Table(cpu, 20, metric, np.random.default_rng(0))
        found[metric] = table.coefficients(some).reshape(KINDS, 20)[2].mean()
    assert abs(found["absolute"] - 2.0) < 0.3 and found["squared"] < 0


def test_small_features_tell_as_much_as_large_ones():
    some = folds(np.full(20, 2.0), 60, 0.01)
    small = [fold._replace(features=fold.features * np.float32(0.01), targets=fold.targets / 100) for fold in some]
    table = Table(cpu, 20, "squared", np.random.default_rng(0))
    found, _ = table.of_kinds(small)
    np.testing.assert_allclose(found[2], 2.0, atol=0.1)


def test_of_each_group_some_are_drawn():
    some = folds(np.full(4, 2.0), 60, 0.1)[:1]
    group = some[0].group - 2 * 4
    values = Table(cpu, 4, "squared", np.random.default_rng(0)).sorted(some, group, 5, 7)
    assert np.diff(values.first).tolist() == [7, 7, 7, 7, 0]
    rows = np.array([np.flatnonzero(some[0].targets == one)[0] for one in values.targets])
    np.testing.assert_array_equal(group[rows], np.repeat(np.arange(4), 7))
    assert (rows % 60 >= 7).sum() > 14 and len(set(rows)) == 28
    np.testing.assert_array_equal(values.features, some[0].features[rows])


def test_mean_squares():
    x, start = np.array([[1, 2], [3, 4], [5, 6]], np.float32), np.array([[7.0, 8.0]])
    found = mean_squares(x, np.array([0, 2, 2, 3]), start, np.zeros(3, int))
    np.testing.assert_allclose(found, [[5, 10], [7, 8], [25, 36]])


@pytest.mark.parametrize("shape, count", [((207, 2016), 8), ((37, 744), 8), ((207, 2532), 6), ((6_500, 256), 2)])
def test_as_many_folds_as_tell_enough(shape, count):
    assert folds_for(np.broadcast_to(True, shape)) == count


@pytest.mark.slow
def test_of_long_series_a_window_is_learned_from(monkeypatch):
    t = np.arange(3 * T)
    truth = np.sin(2 * np.pi * t / 250) + np.sin(2 * np.pi * t / 37 + np.linspace(0, 1, N)[:, None])
    seen = np.random.default_rng(0).random(truth.shape) > 0.2
    windows = []
    monkeypatch.setattr(local, "WINDOW", N * 300)
    monkeypatch.setattr(local, "folds_for", lambda part: windows.append(part.shape) or 3)
    model = GraphImputer(method="local", device="cpu").fit(ring(), truth, seen)
    assert set(windows) == {(N, 300)} and np.abs(model.completed_ - truth)[~seen].mean() < 0.05


@pytest.mark.slow
def test_a_window_shorter_than_two_periods(monkeypatch):
    """Values a period away are not used in short windows."""
    rng, t = np.random.default_rng(0), np.arange(1200)
    rough = rng.normal(size=(N, 200))
    smooth = sum(np.roll(rough, shift, axis=1) for shift in range(6))
    truth = smooth[:, t % 200] + 0.1 * rng.normal(size=(N, len(t)))
    given, kept, units, part_of = set(), set(), local.units, local.part_of
    monkeypatch.setattr(local, "WINDOW", N * 300)
    monkeypatch.setattr(local, "folds_for", lambda part: 2)
    monkeypatch.setattr(local, "units", lambda problem: given.add(problem.period) or units(problem))
    monkeypatch.setattr(local, "part_of", lambda problem, *rest: kept.add(problem.period) or part_of(problem, *rest))
    GraphImputer(method="local", device="cpu").fit(ring(), truth, rng.random(truth.shape) > 0.2)
    assert given == {200} and kept == {0}


@pytest.mark.slow
def test_a_vertex_without_values_is_left_to_others():
    """Vertices without observations stay NaN."""
    seen = np.random.default_rng(0).random((N, T)) > 0.2
    seen[3] = False
    rows = [
        GraphImputer(method=method, device="cpu").fit(ring(), waves(), seen).completed_[3]
        for method in ("local", "interpolation")
    ]
    np.testing.assert_allclose(*rows)


def test_a_vertex_that_never_moves_has_a_scale():
    values = np.array([[1.0, 3, 1, 3], [2, 2, 2, 2]])
    mean, scale = local.units(SimpleNamespace(seen=np.ones((2, 4), bool), values=values))
    np.testing.assert_allclose(np.hstack((mean, scale)), [[2, 1], [2, local.SCALE_FLOOR * np.sqrt(0.5)]])


def test_hidden_values_are_sampled_per_vertex(monkeypatch):
    monkeypatch.setattr(local, "VALUES_PER_VERTEX", 12)
    hidden = np.random.default_rng(0).random((4, 50)) < 0.8
    part = SimpleNamespace(hidden=hidden, kinds=np.ones(hidden.shape, np.int8))
    vertex, column = local.sample_hidden(part, np.random.default_rng(0).permutation(hidden.sum()), 3)
    assert np.bincount(vertex).tolist() == [4] * 4 and hidden[vertex, column].all() and column.max() > 20


@pytest.mark.slow
def test_the_second_pass_begins_with_the_answers_of_the_first(monkeypatch):
    series, describe_hidden = [], local.describe_hidden

    def kept(steps, part, *rest):
        series.append(part.series)
        return describe_hidden(steps, part, *rest)

    monkeypatch.setattr(local, "describe_hidden", kept)
    monkeypatch.setattr(local, "folds_for", lambda seen: 2)
    seen = np.random.default_rng(0).random((N, T)) > 0.2
    GraphImputer(method="local", device="cpu").fit(ring(), waves(), seen)
    first, second = series[-4], series[-2]
    assert np.array_equal(first != second, (first != second) & ~np.isnan(first)) and (first != second).mean() > 0.1


def test_nearest_columns_of_a_value_exclude_its_own():
    values, seen = waves(), np.random.default_rng(0).random((N, T)) < 0.6
    part = local.part_of(asked(np.where(seen, values, 0.0), seen), Hidden(*np.zeros((2, N, T), bool)))
    for row, column in np.ndindex(4, T):
        observed = np.flatnonzero(seen[row])
        assert part.before[row, column] == max(observed[observed < column], default=-1)
        assert part.after[row, column] == min(observed[observed > column], default=T)
