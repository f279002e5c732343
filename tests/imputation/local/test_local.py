"""The local regression: features and coefficients against plain loops, and accuracy."""

from types import SimpleNamespace

import numpy as np
import pytest

from gpukit import GraphImputer
from gpukit.imputation import local
from gpukit.imputation.auto.judging import KINDS
from gpukit.imputation.auto.masking import Hidden
from imputation.auto.test_auto import N, T, asked, ring, waves
from imputation.local import inputs, naive


def test_features():
    part, series, near = inputs.masked_problem()
    vertex, column = np.nonzero(~part.problem.seen)
    found, base = local.describe_values(part, (series, near), vertex, column)
    values, seen, at = part.problem.values.astype(float), part.problem.seen, part.problem.at
    for i, (v, t) in enumerate(zip(vertex, column)):
        x, point = naive.features(values, seen, at, series.astype(float), near, v, t)
        np.testing.assert_allclose(found[i], x, atol=2e-6)
        np.testing.assert_allclose(base[i], point, atol=1e-6)


@pytest.mark.parametrize("rounds", [0, 1, 4])
@pytest.mark.parametrize("numbers", [1 << 19, 700, 1])
def test_regress(rounds, numbers, monkeypatch):
    monkeypatch.setattr(local, "BLOCK_NUMBERS", numbers)
    features, targets, first, start, pull, group = inputs.groups([40, 0, 3, 90, 0], 7)
    found = local.regress(features, targets, first, start[group], pull[group], rounds)
    for g in range(len(group)):
        some = slice(first[g], first[g + 1])
        X, y = features[some].astype(float), targets[some].astype(float)
        expected = naive.regression(X, y, start[group[g]], pull[group[g]], rounds) if len(y) else start[group[g]]
        np.testing.assert_allclose(found[g], expected, rtol=1e-4, atol=1e-5)


def test_a_part_does_not_see_what_it_hides():
    values, seen, hidden = waves(), np.ones((N, T), bool), np.zeros((N, T), bool)
    seen[0, 3], hidden[1, 10:14], hidden[2, 5] = False, True, True
    part = local.mask_problem(asked(values, seen), Hidden(hidden, hidden))
    np.testing.assert_array_equal(part.hidden, hidden)
    np.testing.assert_array_equal(part.problem.seen, seen & ~hidden)
    np.testing.assert_allclose(part.series[1, 10:14], np.interp(range(10, 14), [9, 14], values[1, [9, 14]]), rtol=1e-5)
    assert (part.before[1, 12], part.after[1, 12]) == (9, 14)


def complete(series, alive, adjacency=None):
    """Return a MaskedProblem of complete series (N, T)."""
    problem = SimpleNamespace(seen=np.repeat(alive[:, None], series.shape[1], axis=1), adjacency=adjacency)
    return local.MaskedProblem(None, problem, None, series.astype(np.float32), None, None)


def test_series_that_are_alike():
    rng = np.random.default_rng(0)
    series = np.repeat(rng.normal(size=(3, 50)), 2, axis=0) + 0.01 * rng.normal(size=(6, 50))
    series += 5 * np.arange(6)[:, None]  # levels have no effect
    found = local.most_similar(complete(series, np.arange(6) < 5), 4)
    assert found[:, 0].tolist()[:4] == [1, 0, 3, 2] and (found[:, :4] != np.arange(6)[:, None]).all()
    assert not (found == 5).any()


def test_of_many_vertices_neighbours_are_compared(monkeypatch):
    from scipy import sparse

    monkeypatch.setattr(local, "ALL", 3)
    series = np.array([[0, 1, 0, 1], [0, 1, 0, 2], [1, 0, 1, 0], [0, 1, 1, 1]], np.float32)
    adjacency = sparse.csr_matrix(np.array([[0, 0, 1, 1], [0, 0, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0]], float))
    found = local.most_similar(complete(series, np.ones(4, bool), adjacency), 2)
    assert found.tolist() == [[3, 2], [1, 1], [0, 2], [0, 3]]
    found = local.most_similar(complete(series, np.arange(4) < 3, adjacency), 2)
    assert found[0].tolist() == [2, 3]  # the last one has no values


def test_a_period_away():
    series = np.arange(7.0)[None]
    np.testing.assert_allclose(local.period_away(series, 3), [[3, 4, 5, 3, 1, 2, 3]])


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
    limits = local.limits_of(values, values < 50)
    np.testing.assert_allclose(np.transpose(limits), [[0.5, 3.5], [-5, 1]])
    seen = np.random.default_rng(0).random((N, T)) > 0.3
    part = local.mask_problem(asked(waves(), seen), Hidden(*np.zeros((2, N, T), bool)))
    near, far = np.zeros((N, 2), int), np.full((KINDS * N, local.OWN + 8), 1e6)
    np.testing.assert_allclose(local.predict(part, near, far).series, part.series, atol=1e-6)


def examples(slopes, count, noise, seed=0):
    """Return (features (n, 1), targets (n,), groups (n,)) of one kind: slopes times the feature, and noise."""
    rng, vertex = np.random.default_rng(seed), np.repeat(np.arange(len(slopes)), count)
    x = rng.normal(size=(len(vertex), 1)).astype(np.float32)
    y = x[:, 0] * slopes[vertex] + noise * rng.normal(size=len(vertex))
    return x, y.astype(np.float32), 2 * len(slopes) + vertex


def learned(x, y, group, count, rounds=0):
    """Return the coefficients (count,) of the vertices for the kind of `examples`."""
    found = local.coefficients(x, y, group, count, rounds, np.random.default_rng(0))
    return found.reshape(KINDS, count)[2]


@pytest.mark.parametrize("rounds", [0, 3])
def test_vertices_are_drawn_together_as_far_as_they_are_alike(rounds):
    slopes = {"alike": np.full(200, 2.0), "apart": np.linspace(-20, 20, 200)}
    found = {name: learned(*examples(one, 180, 1.0), 200, rounds) for name, one in slopes.items()}
    spread = np.std(found["alike"])
    assert spread < 0.95 / np.sqrt(180) and np.abs(found["alike"] - 2.0).max() < 5 * spread
    slope = np.polyfit(slopes["apart"], found["apart"], 1)[0]
    if not rounds:
        assert slope == pytest.approx(180 / (180 + 30), abs=0.05)
    else:
        assert 0.5 < slope < 1


def test_a_feature_that_a_vertex_has_not_shown_keeps_the_coefficient_of_all():
    """The coefficient is not estimated from its few values.

    Such a coefficient would be random, and far off for features of the usual size.
    """
    x, y, group = examples(np.full(20, 2.0), 180, 0.1)
    of_first = group == 2 * 20
    x[of_first] *= 1e-3
    y[of_first] = np.random.default_rng(1).normal(size=of_first.sum())
    np.testing.assert_allclose(learned(x, y, group, 20), 2.0, atol=0.1)


def test_values_that_are_far_off_are_heeded_by_squares_alone():
    x, y, group = examples(np.full(20, 2.0), 180, 0.1)
    y[::5] = -20 * x[::5, 0]
    absolute, squared = (learned(x, y, group, 20, rounds).mean() for rounds in (3, 0))
    assert abs(absolute - 2.0) < 0.3 and squared < 0


def test_small_features_tell_as_much_as_large_ones():
    x, y, group = examples(np.full(20, 2.0), 180, 0.01)
    np.testing.assert_allclose(learned(x * np.float32(0.01), y / 100, group, 20), 2.0, atol=0.1)


def test_of_each_group_some_are_drawn():
    group = np.tile(np.arange(4), 60)
    rows = local.sample_groups(group, 7, np.random.default_rng(0))
    np.testing.assert_array_equal(group[rows], np.repeat(np.arange(4), 7))
    assert len(set(rows)) == 28 and (rows > 120).any() and (rows < 120).any()


@pytest.mark.parametrize("shape, count", [((207, 2016), 8), ((37, 744), 8), ((207, 2532), 6), ((6_500, 256), 2)])
def test_as_many_folds_as_tell_enough(shape, count):
    assert local.folds_for(np.broadcast_to(True, shape)) == count


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
    given, kept, units, mask_problem = set(), set(), local.units, local.mask_problem
    monkeypatch.setattr(local, "WINDOW", N * 300)
    monkeypatch.setattr(local, "folds_for", lambda part: 2)
    monkeypatch.setattr(local, "units", lambda problem: given.add(problem.period) or units(problem))
    monkeypatch.setattr(
        local, "mask_problem", lambda problem, *rest: kept.add(problem.period) or mask_problem(problem, *rest)
    )
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
    np.testing.assert_allclose(np.hstack((mean, scale)), [[2, 1], [2, 0.05 * np.sqrt(0.5)]])


def test_hidden_values_are_sampled_per_vertex(monkeypatch):
    monkeypatch.setattr(local, "VALUES_PER_VERTEX", 12)
    hidden = np.random.default_rng(0).random((4, 50)) < 0.8
    part = SimpleNamespace(hidden=hidden, kinds=np.ones(hidden.shape, np.int8))
    vertex, column = local.choose_values(part, np.random.default_rng(0), 3)
    assert np.bincount(vertex).tolist() == [4] * 4 and hidden[vertex, column].all() and column.max() > 20


@pytest.mark.slow
def test_the_second_pass_begins_with_the_answers_of_the_first(monkeypatch):
    series, learn = [], local.learn
    monkeypatch.setattr(local, "learn", lambda parts, *rest: series.append(parts[0].series) or learn(parts, *rest))
    monkeypatch.setattr(local, "folds_for", lambda seen: 2)
    seen = np.random.default_rng(0).random((N, T)) > 0.2
    GraphImputer(method="local", device="cpu").fit(ring(), waves(), seen)
    first, second = series[-2:]
    assert (first != second).mean() > 0.1


def test_nearest_columns_of_a_value_exclude_its_own():
    values, seen = waves(), np.random.default_rng(0).random((N, T)) < 0.6
    part = local.mask_problem(asked(np.where(seen, values, 0.0), seen), Hidden(*np.zeros((2, N, T), bool)))
    for row, column in np.ndindex(4, T):
        observed = np.flatnonzero(seen[row])
        assert part.before[row, column] == max(observed[observed < column], default=-1)
        assert part.after[row, column] == min(observed[observed > column], default=T)


@pytest.mark.filterwarnings("error")
def test_where_whole_vertices_alone_are_missing():
    """There is no gap to learn from, which gave numpy's warnings of an empty mean."""
    values = np.random.default_rng(0).normal(size=(12, 40)).cumsum(axis=1)
    ring = np.roll(np.eye(12), 1, axis=1) + np.roll(np.eye(12), -1, axis=1)
    completed = GraphImputer(method="local", device="cpu").fit(ring, values, np.arange(12) > 1).completed_
    assert np.isfinite(completed).all()
