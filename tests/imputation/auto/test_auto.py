"""method='auto': hidden values, evaluation and combination of methods, and attributes after fit."""

import contextlib
import threading
from types import SimpleNamespace

import numpy as np
import pytest
from support import thinned

from gpukit import GraphImputer, _pool
from gpukit.errors import DataError
from gpukit.imputation import options, scans
from gpukit.imputation.auto import judging, plan, run, uncertainty
from gpukit.imputation.auto import plan as methods
from gpukit.imputation.auto import plan as planned
from gpukit.imputation.auto.judging import Fold, error_of
from gpukit.imputation.problem import Method, Problem, always
from gpukit.model_selection.trial import Trial
from gpukit.persist import load_model
from imputation.inputs import problem

N, T = 12, 200


def waves(seed=0):
    """Return (N, T) series in time.

    Two sines in shares that differ by vertex, a level of each, and noise.
    """
    rng, t = np.random.default_rng(seed), np.arange(T)
    phases = np.linspace(0, 1, N)[:, None]
    series = 10 + np.sin(2 * np.pi * (t / 40)) * (1 + phases) + 0.5 * np.sin(2 * np.pi * (t / 25 + phases))
    return series + 0.02 * rng.normal(size=(N, T)) + rng.normal(size=(N, 1))


def asked(values, seen, at=True):
    """Return a Problem with only values, observed entries and order."""
    order = np.arange(values.shape[1], dtype=float) if at else None
    return Problem(None, np.where(seen, values, 0.0), seen, order, 0, (1, values.shape[1]), None, None)


def ring():
    """The adjacency of a ring of N vertices."""
    return np.roll(np.eye(N), 1, axis=1) + np.roll(np.eye(N), -1, axis=1)


@pytest.fixture(scope="module")
def filled():
    """Return waves, their observed entries, and a GraphImputer fitted to them."""
    truth, seen = waves(), np.random.default_rng(0).random((N, T)) > 0.2
    return truth, seen, GraphImputer(device="cpu").fit(ring(), truth, seen)


def test_places():
    seen = np.array([[1, 0, 0, 0, 0, 1], [0, 0, 0, 0, 0, 0], [1, 1, 1, 1, 1, 1]], bool)
    np.testing.assert_array_equal(scans.distances(seen)[0], [0, 1, 2, 2, 1, 0])
    found = judging.kinds(asked(np.ones((3, 6)), seen))
    assert (found[1] == judging.NEVER).all() and found[0].tolist() == [2, 2, 3, 3, 2, 2]
    assert set(judging.kinds(asked(np.ones((3, 6)), seen, False))[0]) == {judging.ALWAYS}


@pytest.mark.parametrize("metric", options.METRICS)
def test_a_mean_of_independent_errors_beats_its_parts(metric):
    rng = np.random.default_rng(0)
    truth = rng.normal(size=3000)
    estimates = truth + rng.normal(size=(3, 3000)) * [[1.0], [1.0], [9.0]]
    kinds = np.full(3000, judging.ALWAYS, np.int8)
    shares = plan.shares_of(estimates, truth, kinds, metric)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    mixed = plan.weighted_mean(estimates, shares, kinds)
    assert error_of(mixed - truth, metric) < 0.8 * error_of(estimates[0] - truth, metric)
    assert shares[judging.ALWAYS, 2] <= 0.05


@pytest.mark.parametrize("metric", options.METRICS)
def test_methods_that_few_values_cannot_tell_apart_are_mixed(metric):
    """A hidden value of a large series must not decide: without it the second method is the better one."""
    truth, kinds = np.zeros(30), np.full(30, judging.ALWAYS, np.int8)
    estimates = np.array([np.full(30, 1.1), np.r_[np.full(29, 1.0), 4.5], np.full(30, 9.0)])
    shares = plan.shares_of(estimates, truth, kinds, metric)[judging.ALWAYS]
    assert 0.2 < shares[1] < 0.9 and shares[0] > 0.1 and shares[2] == 0
    order = np.random.default_rng(0).permutation(30)
    np.testing.assert_array_equal(plan.shares_of(estimates[:, order], truth, kinds, metric)[judging.ALWAYS], shares)


def test_each_kind_has_shares_of_its_own():
    rng = np.random.default_rng(1)
    truth, kinds = rng.normal(size=2000), np.repeat([judging.NEVER, judging.ALWAYS], 1000).astype(np.int8)
    good, bad = truth + 0.1 * rng.normal(size=2000), truth + 5 * rng.normal(size=2000)
    estimates = np.where(kinds == judging.NEVER, [good, bad], [bad, good])
    shares = plan.shares_of(estimates, truth, kinds, "absolute")
    assert shares[judging.NEVER, 0] > 0.9 and shares[judging.ALWAYS, 1] > 0.9
    assert np.abs(plan.weighted_mean(estimates, shares, kinds) - truth).mean() < 0.5


@pytest.mark.parametrize("zeros", [0.0, 0.97])
def test_nothing_is_filled_in_with_certainty(zeros):
    rng = np.random.default_rng(0)
    values = np.where(rng.random((N, T)) < zeros, 0.0, rng.gamma(1.0, 5.0, (N, T)) if zeros else 0.0)
    seen = rng.random((N, T)) > 0.2
    model = GraphImputer(device="cpu").fit(ring(), values, seen)
    assert (model.deviation_[~seen] > 0).all() and model.notes_


def test_scales_of_whole_vertices_follow_the_number_of_those_hidden(monkeypatch):
    calls, learn = [], uncertainty.learn_with_growth

    def record(parts, changes, units, least):
        calls.append((parts, units))
        return learn(parts, changes, units, least)

    monkeypatch.setattr(uncertainty, "learn_with_growth", record)
    values = waves()
    seen = np.ones(values.shape, bool)
    seen[[2, 5]] = False
    GraphImputer(device="cpu").fit(ring(), values, seen)
    assert calls
    for parts, units in calls:
        assert units == sum(np.count_nonzero(part.kinds == judging.NEVER) for part in parts) / T > 0


@pytest.mark.slow
def test_deviations_hold_on_vertices_that_they_were_not_learned_on():
    rng, held = np.random.default_rng(0), []
    for _ in range(60):
        offsets, features = rng.normal(size=30), rng.normal(size=(30, uncertainty.FEATURES))
        errors = uncertainty.Errors(
            offsets.repeat(40),
            np.full(1200, judging.NEVER, np.int8),
            features.repeat(40, axis=0),
            *[np.arange(1200)] * 4,
        )
        parts = [errors.select(slice(200 * fold, 200 * fold + 200)) for fold in range(5)]
        found = uncertainty.learn(parts, 25)
        held.append(np.abs(offsets[25:]) < 1.645 * found.at(errors.kinds[1000::40], features[25:]))
    assert 0.85 < np.mean(held) < 0.97


def test_deviations_of_a_hundred_errors_follow_the_features():
    rng, kinds = np.random.default_rng(0), np.full(100, judging.ALWAYS, np.int8)
    features = rng.normal(size=(200, uncertainty.FEATURES))
    errors = uncertainty.Errors(
        np.exp(features[:, 0]) * rng.normal(size=200), np.tile(kinds, 2), features, *[np.arange(200)] * 4
    )
    found = uncertainty.learn([errors.select(slice(0, 100)), errors.select(slice(100, None))])
    small, large = (found.at(kinds[:1], sign * np.eye(1, uncertainty.FEATURES)) for sign in (-1.0, 1.0))
    assert large > 4 * small


@pytest.mark.parametrize("share, noted", [(0.4, False), (0.6, True)])
def test_a_value_of_most_entries_is_noted(share, noted):
    values = np.arange(100.0)
    values[: int(100 * share)] = 70.5  # neither the least nor the greatest
    problem = asked(values.reshape(4, 25), np.ones((4, 25), bool))
    place = SimpleNamespace(basis=SimpleNamespace(exact=False))
    notes = run.notes_of(problem._replace(options=SimpleNamespace(method="auto"), place=place))
    assert ["observed is 70.5" in note for note in notes] == [True] * noted


def test_few_runs_widen_no_interval():
    rng, parts = np.random.default_rng(0), []
    for _ in range(8):
        errors, features = rng.normal(size=200), rng.normal(size=(200, uncertainty.FEATURES))
        parts.append(uncertainty.Errors(errors, np.full(200, judging.ALWAYS, np.int8), features, *[np.arange(200)] * 4))
    found, whole = (
        uncertainty.learn([part._replace(kinds=np.full(200, kind, np.int8)) for part in parts], units=8)
        for kind in (judging.ALWAYS, judging.NEVER)
    )
    assert abs(found.coverage[0.9] - 0.9) < 0.01 and abs(whole.coverage[0.9] - 0.95) < 0.01


@pytest.mark.slow
def test_series_are_filled_in_along_time_and_the_report_says_so(filled, tmp_path):
    truth, seen, model = filled
    error = np.abs(model.completed_ - truth)[~seen].mean()
    by_name = {row.name: row for row in model.report_}
    assert set(by_name) == {*methods.CANDIDATES, planned.MIX}
    assert error < 1.02 * by_name["interpolation"].error and error < 0.5 * by_name["vertex-median"].error
    assert model.report_ == sorted(model.report_, key=lambda row: row.error)
    assert (model.deviation_[~seen] > 0).all() and (model.deviation_[seen] == 0).all()
    assert abs(model.coverage_[0.9] - 0.9) < 0.02
    np.testing.assert_array_equal(model.completed_[seen], truth[seen])
    np.testing.assert_array_equal(model.transform(truth, seen), model.completed_)
    model.save(tmp_path / "m")
    again = load_model(tmp_path / "m").set_params(device="cpu")
    np.testing.assert_array_equal(again.transform(truth, seen), model.completed_)
    assert [row[:2] for row in again.report_] == [row[:2] for row in model.report_] and again.method_ == model.method_
    np.testing.assert_allclose([row[2:] for row in again.report_], [row[2:] for row in model.report_])


@pytest.mark.parametrize("name", thinned(sorted({*methods.BY_NAME, *options.METHODS})))
def test_every_method_by_its_name(name):
    """Every name in either table is accepted."""
    truth, seen = waves(), np.random.default_rng(0).random((N, T)) > 0.2
    model = GraphImputer(method=name, device="cpu", minimum=9.5, maximum=11.0).fit(ring(), truth, seen)
    filled = model.completed_[~seen]
    assert model.method_ == name and filled.min() >= 9.5 and filled.max() <= 11.0


@pytest.mark.parametrize(
    "name",
    [
        "smoothness",
        pytest.param("local", marks=pytest.mark.slow),
        "interpolation",
        pytest.param("auto", marks=pytest.mark.slow),
    ],
)
def test_what_needs_an_order_gives_way_to_means_without_one(name):
    values, few = waves(), np.random.default_rng(3).normal(size=(N, 5)).round(2)
    values[2, 40:60], few[2], few[5, 1] = np.nan, np.nan, np.nan
    filled = GraphImputer(method=name, device="cpu").fit(ring(), values).transform(few)
    seen = np.isfinite(few)
    np.testing.assert_array_equal(filled[seen], few[seen])
    assert few[seen].min() < filled[~seen].min() and filled[~seen].max() < few[seen].max()


def test_times_that_are_far_apart_count():
    truth = np.tile(np.array([0.0, 1.0, 10.0, 11.0]), (N, 5)) + np.repeat(np.arange(5), 4) * 20
    times, seen = truth[0].astype(int), np.ones(truth.shape, bool)
    seen[0, 1::4] = seen[3, 2::4] = False
    model = GraphImputer(method="interpolation", device="cpu").fit(ring(), truth, seen, times=times)
    np.testing.assert_allclose(model.completed_, truth, atol=1e-9)


def test_named_weights_mean_the_papers_algorithm():
    case = problem()
    model = GraphImputer(weights="slice", center="none", device="cpu").fit(case.A, case.truth, case.mask)
    assert model.method_ == "spectral" and model.plan_ is None
    assert np.isnan(model.deviation_[~case.mask]).all() and (model.deviation_[case.mask] == 0).all()


def skewed(seed=0):
    """Return (estimate, truth) of a method of averages.

    The truth is sometimes far below the estimate.
    """
    rng = np.random.default_rng(seed)
    level = rng.normal(size=4000)
    return level, level + np.where(rng.random(4000) < 0.15, -0.85 / 0.15, 1.0)


def test_estimates_are_bent_to_the_middle():
    kinds = np.full(4000, judging.ALWAYS, np.int8)
    parts = [(*skewed(seed), kinds) for seed in (0, 1)]
    bends = plan.learn_bends(parts, "absolute")
    assert not bends[0].any()
    np.testing.assert_allclose(bends[1, 1], 1.0, atol=1e-9)
    estimate, truth = skewed(2)
    bent = plan.apply_bends(bends, estimate, kinds)
    assert np.abs(bent - truth).mean() < 0.8 * np.abs(estimate - truth).mean()
    noise = [(e, e + np.random.default_rng(0).normal(size=e.shape), kinds) for e, _, _ in parts]
    assert not plan.learn_bends(noise, "absolute").any()


def test_few_units_bend_nothing():
    kinds = np.full(4000, judging.ALWAYS, np.int8)
    parts = [(*skewed(seed), kinds) for seed in (0, 1)]
    assert plan.learn_bends(parts, "absolute", (0, plan.KNOTS))[1].any()
    assert not plan.learn_bends(parts, "absolute", (plan.KNOTS, 5)).any()


@pytest.mark.slow
def test_corrections_are_in_the_estimates_their_errors_and_the_file(filled, monkeypatch, tmp_path):
    truth, seen, plain = filled
    bends = plan.zero_bends()
    bends[:, 0], bends[:, 1] = np.linspace(-9.0, 9.0, plan.KNOTS), 5.0
    monkeypatch.setattr(plan, "learn_bends", lambda *arguments: bends)
    model = GraphImputer(device="cpu").fit(ring(), truth, seen)
    np.testing.assert_allclose((model.completed_ - plain.completed_)[~seen], 5.0, atol=1e-6)
    row = next(row for row in model.report_ if row.name == planned.MIX)
    assert model.method_ == planned.MIX and row.error == pytest.approx(5.0, abs=0.5)
    model.save(tmp_path / "m")
    again = load_model(tmp_path / "m").set_params(device="cpu")
    np.testing.assert_array_equal(again.transform(truth, seen), model.completed_)


def test_units_are_vertices_and_runs_that_begin_and_end_together():
    hidden = np.array([[1, 1, 0, 1], [1, 1, 0, 0], [0, 1, 1, 1]], bool)
    kinds = np.array([2, 2, 2, 2, 2, judging.NEVER, judging.NEVER, judging.NEVER], np.int8)
    one, two, _, again, like, *dead = Fold(hidden, None, None).units(kinds).tolist()
    assert one == two == again == like and dead == [2, 2, 2]
    hidden[1, 2] = True
    one, _, _, other, *_ = Fold(hidden, None, None).units(np.insert(kinds, 5, 2)).tolist()
    assert one != other


def test_a_bend_that_costs_squares_is_none():
    rng, kinds = np.random.default_rng(0), np.full(4000, judging.ALWAYS, np.int8)
    parts = []
    for _ in range(2):
        mean = rng.uniform(0.1, 0.3, 4000)
        parts.append((mean, np.where(rng.random(4000) < mean / 10, 10.0, 0.0), kinds))
    assert plan.learn_bends(parts, "squared")[1, 1].max() < 0.05
    assert not plan.learn_bends([(4 * e, t, k) for e, t, k in parts[:1]], "absolute").any()


def test_deviations_follow_the_signs_and_their_intervals_hold():
    rng, kinds = np.random.default_rng(0), np.full(5000, judging.ALWAYS, np.int8)
    features = rng.normal(size=(5000, uncertainty.FEATURES))
    sizes = np.exp(0.8 * features[:, 2])
    errors = uncertainty.Errors(sizes * rng.normal(size=5000), kinds, features, *[np.arange(5000)] * 4)
    found = uncertainty.learn([errors.select(slice(0, 2500)), errors.select(slice(2500, None))])
    assert abs(found.coverage[0.9] - 0.9) < 0.01 and abs(found.coverage[0.5] - 0.5) < 0.05
    assert np.corrcoef(np.log(found.at(kinds, features)), np.log(sizes))[0, 1] > 0.95
    few = uncertainty.learn([uncertainty.Errors(np.ones(30), kinds[:30], features[:30], *[np.arange(30)] * 4)])
    np.testing.assert_allclose(few.at(kinds, features), 1 / uncertainty.WIDE)


def test_a_setting_is_the_one_that_errs_least_on_all_folds_of_a_trial():
    values, seen, off = np.zeros((2, 8)), np.ones((2, 8), bool), [(0.0, 4.0), (1.0, 1.0)]  # per fold, for a setting

    def fill(problem, setting):
        return np.full((2, 8), off[setting["number"]][int(problem.seen[0, 7])])

    method = Method("none", always, lambda problem: [{"number": 0}, {"number": 1}], fill)
    hidden = np.zeros((2, 2, 8), bool)
    hidden[0, :, 6:] = hidden[1, :, 4:6] = True
    folds = [Fold(one, asked(values, seen).without(one), values) for one in hidden]
    one, both = (run.search_setting(method, folds, splits, "absolute") for splits in (1, 2))
    assert (one.best.candidate.setting, both.best.candidate.setting) == ({"number": 0}, {"number": 1})
    assert len(one.results) == len(both.results) == 1  # estimates of other settings would fill the memory
    assert len(one.best.row["estimates"]) == 1 and len(both.best.scores) == 8
    whole = run.judge(one, None, {}, None)
    assert whole.candidate is one.best.candidate and len(whole.row["estimates"]) == 2
    decided = run.judge(
        run.search_setting(method._replace(decide=lambda *_: {"number": 1}), folds, 1, "absolute"), None, {}, None
    )
    assert decided.candidate.setting == {"number": 1} and len(decided.row["residuals"]) == 2


def test_finalists_are_near_the_best_of_a_group_and_unlike_each_other():
    """The first group has two finalists; the second one another, which is far from the best of the first."""
    rng, groups = np.random.default_rng(0), np.repeat([0, 1], 200)
    sizes = {"two-way-mean": (1.0, 9.0), "interpolation": (1.2, 9.0), "seasonal": (1.6, 1.0), "trend": (1.2, 9.0)}
    errors = np.abs(rng.normal(size=200)) + 1.0
    trials = [
        Trial(judging.Candidate(methods.BY_NAME[name], {}), None, {"residuals": [size * errors for size in both]})
        for name, both in sizes.items()
    ]
    assert run.choose_finalists(trials, groups, "absolute") == {"two-way-mean", "interpolation", "seasonal"}


@pytest.mark.slow
@pytest.mark.parametrize("days_to_come", [False, True])
def test_of_few_runs_all_folds_are_tried(monkeypatch, days_to_come):
    seen, tried, counts = np.random.default_rng(0).random((N, T)) > 0.2, run.try_methods, []
    if days_to_come:
        seen[:] = np.arange(T) < T - 10

    class Counted(Exception):
        """The first count is enough."""

    def counted(problem, folds, splits, *rest):
        counts.append(splits)
        if days_to_come:
            raise Counted
        return tried(problem, folds, splits, *rest)

    monkeypatch.setattr(run, "try_methods", counted)
    with pytest.raises(Counted) if days_to_come else contextlib.nullcontext():
        GraphImputer(device="cpu").fit(ring(), waves(), seen)
    assert counts[0] > 1 if days_to_come else counts == [1]


def test_too_little_to_judge_by_is_said():
    truth = np.array([[280.0, 281.0], [282.0, 283.0], [284.0, 285.0], [0.0, 0.0]])
    with pytest.warns(UserWarning, match="too few values are observed .*, 6, of 3 of the vertices"):
        model = GraphImputer(device="cpu").fit(np.ones((4, 4)) - np.eye(4), truth, np.array([1, 1, 1, 0], bool))
    assert model.method_ == "vertex-median" and model.notes_ and model.report_ == []
    np.testing.assert_allclose(model.completed_[3], [282.0, 283.0], atol=0.1)
    assert (model.deviation_[3] > 1).all()


@pytest.mark.parametrize("value", [2e15, -1e39, 1e300])
def test_values_whose_squares_float32_does_not_hold(value):
    seen, values = np.random.default_rng(0).random((N, T)) > 0.2, waves()
    seen[3, 5], values[3, 5] = True, value
    with pytest.raises(DataError, match=r"A value is -?\d.*; the absolute value must be at most 1e\+15"):
        GraphImputer(device="cpu").fit(ring(), values, seen)


def test_one_value_everywhere():
    seen = np.random.default_rng(0).random((N, T)) > 0.2
    model = GraphImputer(device="cpu").fit(ring(), np.full((N, T), 7.0), seen)
    np.testing.assert_allclose(model.completed_, 7.0, rtol=1e-6)
    assert model.notes_ == ["all that is observed is 7."]
    assert (model.deviation_[~seen] > 0).all() and (model.deviation_ < 0.1).all()


@pytest.mark.slow
def test_a_time_that_nobody_sees():
    truth, seen = waves(), np.ones((N, T), bool)
    seen[:, 50:53] = False
    model = GraphImputer(device="cpu").fit(ring(), truth, seen)
    assert np.abs(model.completed_ - truth)[~seen].mean() < 0.3


def test_most_are_zero():
    rng = np.random.default_rng(0)
    counts = rng.poisson(0.2, (N, T)).astype(float)
    model = GraphImputer(device="cpu", minimum=0).fit(ring(), counts, rng.random((N, T)) > 0.2)
    assert "of what is observed is 0" in model.notes_[0] and model.completed_.min() >= 0


def test_methods_of_the_host_have_a_thread_of_their_own_on_a_gpu(monkeypatch):
    """Results keep their order with threads.

    On the CPU, and for graphs whose products use all threads, there is one thread.
    """
    begun, here = [], threading.current_thread()
    monkeypatch.setattr(judging.devices, "gpu", begun.append)
    methods = [SimpleNamespace(host=at in (1, 3)) for at in range(4)]
    threads, heard = {}, []

    def work(at):
        threads[at] = threading.current_thread()
        return 10 * at

    for is_cuda, count, apart in ((True, 3, True), (False, 3, False), (True, judging.KRIGING_GRID_VERTICES + 1, False)):
        place = SimpleNamespace(device=SimpleNamespace(is_cuda=is_cuda, index=2))
        problem = SimpleNamespace(place=place, values=np.zeros((count, 1)))
        assert judging.run_concurrently(problem, methods, work, heard.append) == [0, 10, 20, 30]
        assert [threads[at] is here for at in range(4)] == [True, not apart, True, not apart]
    assert begun == [2] and heard == [0, 20, 10, 30, *2 * [0, 10, 20, 30]]


def test_methods_that_leave_a_gpu_alone():
    leaving = {one.name for one in methods.METHODS if one.host}
    assert {"kriging", "vertex-mean", "local"} <= leaving and not leaving & {"smoothness", "spectral"}


@pytest.mark.slow
def test_side_by_side_answers_are_the_same(monkeypatch):
    """Two threads give the bits of one thread, with one thread of BLAS each."""
    rng = np.random.default_rng(5)
    t = np.arange(300)
    series = np.sin(t / 9.0 + rng.random((9, 1))) + 0.1 * rng.normal(size=(9, 300))
    series[rng.random(series.shape) < 0.2] = np.nan
    ring = np.roll(np.eye(9), 1, axis=1)
    with _pool.single_threaded_blas():
        alone = GraphImputer(device="cpu").fit(ring + ring.T, series)

    def two(calls, aside, begin, heard, run=judging.run_on_threads):
        return run(calls, [[len(calls) - 1], [0]] if len(calls) > 2 else [], lambda: None, heard)

    monkeypatch.setattr(judging, "run_on_threads", two)
    with _pool.single_threaded_blas():
        other = GraphImputer(device="cpu").fit(ring + ring.T, series)
    np.testing.assert_array_equal(other.completed_, alone.completed_)
    assert [row[:5] for row in other.report_] == [row[:5] for row in alone.report_]
    assert "local" in dict(alone.plan_.members)


def test_what_is_filled_in_ends_where_what_is_observed_does():
    rng = np.random.default_rng(0)
    truth, seen = np.maximum(waves() - 10.0, 0.0), rng.random((N, T)) > 0.2
    assert (truth[seen] == 0).mean() > 1e-3
    by_zero, beyond = (
        GraphImputer(method="spectral", device="cpu").fit(ring(), values, seen).completed_[~seen]
        for values in (truth, truth - 1e-3)
    )
    assert by_zero.min() == 0 and beyond.min() < -2e-3
    rare = np.where(truth == 0, 0.01, truth)
    rare[np.argmax(seen[:, 0]), 0] = 0.0  # one value of 2,400
    assert GraphImputer(method="spectral", device="cpu").fit(ring(), rare, seen).completed_[~seen].min() < 0


@pytest.mark.slow
@pytest.mark.parametrize("method", ["vertex-mean", "interpolation"])
def test_the_report_of_a_named_method_has_the_errors_that_others_have_when_named(method):
    truth, seen = waves(), np.random.default_rng(0).random((N, T)) > 0.2
    model = GraphImputer(method=method, device="cpu").fit(ring(), truth, seen)
    other = GraphImputer(method="two-way-mean", device="cpu").fit(ring(), truth, seen)
    found, expected = ({row.name: row.error for row in one.report_} for one in (model, other))
    assert set(found) == set(expected) and not {"local", "spectral"} & set(found)
    assert found["two-way-mean"] == pytest.approx(expected["two-way-mean"], rel=0.02)
    assert found[method] == pytest.approx(expected[method], rel=0.02)


@pytest.mark.slow
def test_series_that_alternate_are_filled_in_as_with_their_times():
    rng = np.random.default_rng(2)
    values = rng.normal(size=(4, 260))
    for t in range(1, values.shape[1]):
        values[:, t] -= 0.7 * values[:, t - 1]
    seen = rng.random(values.shape) > 0.2
    given = np.where(seen, values, np.nan)
    table, series = (GraphImputer(device="cpu") for _ in range(2))
    filled = table.fit(given.T).completed_.T, series.fit(None, given, times=np.arange(260)).completed_
    errors = [np.abs(completed - values)[~seen].mean() for completed in filled]
    assert errors[0] <= 1.02 * errors[1]


@pytest.mark.slow
@pytest.mark.parametrize("whole", [False, True])
def test_the_order_of_the_vertices_does_not_matter(whole):
    rng, truth = np.random.default_rng(0), waves()
    order, seen = rng.permutation(N), rng.random((N, T)) > 0.2
    seen[3] &= not whole
    model = GraphImputer(device="cpu").fit(ring(), truth, seen)
    other = GraphImputer(device="cpu").fit(ring()[np.ix_(order, order)], truth[order], seen[order])
    assert [row.name for row in model.report_] == [row.name for row in other.report_]
    np.testing.assert_allclose(other.completed_, model.completed_[order], atol=0.02)
    np.testing.assert_allclose(other.deviation_, model.deviation_[order], rtol=0.05, atol=1e-4)
