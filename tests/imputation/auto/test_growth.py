"""Growth of deviations beyond the ends of series.

They grow with the distance and with the changes of the series.
"""

import numpy as np
import pytest

from gpukit import GraphImputer
from gpukit.imputation import scans
from gpukit.imputation.auto import judging, uncertainty
from gpukit.persist import load_model
from imputation.auto.test_auto import asked


def trends(seed=0, count=6, columns=120):
    """Series (N, T) that rise by 0.2 to 3 a column, with noise."""
    rng = np.random.default_rng(seed)
    slopes = np.linspace(0.2, 3, count)[:, None]
    return slopes * np.arange(columns) + rng.normal(size=(count, columns))


def drifts(seed, count=8, columns=150):
    """Series (N, T) whose changes are random walks: slowly turning trends."""
    return np.cumsum(np.cumsum(np.random.default_rng(seed).normal(size=(count, columns)), axis=1), axis=1)


def covered(values, missing, method="auto"):
    """Return (coverage of 90 % intervals, deviations) of a fit without growth."""
    given = np.where(missing, np.nan, values)
    model = GraphImputer(method=method, device="cpu").fit(None, given, times=np.arange(values.shape[1]))
    within = np.abs(model.completed_ - values) <= uncertainty.WIDE * model.deviation_
    return within[missing].mean(), model


def test_what_is_beyond_ends():
    seen = np.array([[0, 1, 0, 1, 0, 0], [0, 0, 0, 0, 0, 0], [1, 1, 1, 1, 1, 1]], bool)
    expected = np.zeros((3, 6), bool)
    expected[0, [0, 4, 5]] = True
    np.testing.assert_array_equal(scans.beyond_ends(seen), expected)
    found = uncertainty.changes_beyond(asked(np.ones((3, 6)), seen), ~seen)
    assert (found > 0).tolist() == [True, False, True, True] + [False] * 6
    assert not uncertainty.changes_beyond(asked(np.ones((3, 6)), seen, False), ~seen).any()


def changes_beyond(values, seen):
    """Return (N, T): uncertainty.changes_beyond of missing values, 0 of others."""
    out = np.zeros(seen.shape)
    out[~seen] = uncertainty.changes_beyond(asked(values, seen), ~seen)
    return out


def test_changes_grow_as_those_of_a_random_walk():
    rng, seen = np.random.default_rng(0), np.ones((20, 600), bool)
    seen[:, 400:] = False
    values = np.cumsum(3.0 * rng.normal(size=seen.shape), axis=1)
    found = changes_beyond(np.where(seen, values, 0), seen)[:, 399 + np.array([1, 64, 200])].mean(axis=0)
    np.testing.assert_allclose(found, 3.0 * (2 / np.pi * np.array([1, 64, 200])) ** 0.5, rtol=0.1)


def test_series_too_short_for_changes_have_those_of_others():
    seen = np.zeros((3, 8), bool)
    seen[0, :6], seen[1, 3] = True, True
    found = changes_beyond(np.where(seen, np.arange(8.0), 0), seen)
    assert np.isfinite(found).all() and (found[1, ~seen[1]] > 0).all() and found[1, 7] > found[1, 4]
    assert found[1, 4] == found[0, 6]


@pytest.mark.parametrize("power", [1.0, 0.0])
def test_errors_say_how_deviations_grow(power):
    rng, parts, changes = np.random.default_rng(0), [], []
    for _ in range(4):
        changes.append(np.exp(rng.uniform(0, 3, 300)))
        features = rng.normal(size=(300, uncertainty.FEATURES))
        errors = 2.0 * changes[-1] ** power * rng.normal(size=300)
        parts.append(uncertainty.Errors(errors, np.full(300, judging.KINDS - 1), features, *[np.arange(300)] * 4))
    found = uncertainty.learn_with_growth(parts, changes)
    assert found.growth[1] == power
    low, high = found.at(np.full(2, judging.KINDS - 1), np.zeros((2, uncertainty.FEATURES)), np.array([1.0, 20.0]))
    assert 1.5 < low < 3.5 and abs(high / low / 20**power - 1) < 1e-9


def test_few_values_beyond_ends_are_like_others():
    rng = np.random.default_rng(0)
    features = rng.normal(size=(400, uncertainty.FEATURES))
    part = uncertainty.Errors(rng.normal(size=400), np.full(400, 2), features, *[np.arange(400)] * 4)
    changes = np.r_[np.ones(10), np.zeros(390)]
    found, plain = uncertainty.learn_with_growth([part, part], [changes] * 2), uncertainty.learn([part, part])
    np.testing.assert_array_equal(found.at(part.kinds, part.features, changes), plain.at(part.kinds, part.features))


def beyond(residuals, length):
    """Errors beyond ends, in runs of a length."""
    count = len(residuals)
    kinds = np.full(count, uncertainty.BEYOND)
    entries = np.arange(count)
    return uncertainty.Errors(
        residuals, kinds, np.zeros((count, uncertainty.FEATURES)), entries // length, *[entries] * 3
    )


def test_errors_of_a_run_that_agree_count_as_one():
    rng, runs = np.random.default_rng(0), 12
    for length in (1, 7, 40):
        alike = beyond(np.repeat(rng.normal(size=runs), length), length)
        free = beyond(rng.normal(size=runs * length), length)
        found = [uncertainty.count_independent(one, np.ones(runs * length)) for one in (alike, free)]
        np.testing.assert_allclose(found[0], runs)
        assert 0.8 * runs * length < found[1] <= runs * length
    again = uncertainty.concatenate([free, free._replace(runs=free.runs + runs)])  # the same values in two folds
    np.testing.assert_allclose(uncertainty.count_independent(again, np.ones(2 * len(free.runs))), found[1])
    joined = uncertainty.concatenate([alike.select(slice(80)), alike.select(slice(80, None))])
    assert uncertainty.count_independent(joined, np.ones(480)) == found[0]
    widths = [uncertainty.student_factor(count, 0.9) for count in found]
    assert 1.1 < widths[0] < 1.2 and 1 < widths[1] < 1.02
    one = uncertainty.student_factor(uncertainty.count_independent(beyond(np.full(40, 2.0), 40), np.ones(40)), 0.9)
    np.testing.assert_allclose(one, 6.3138 / uncertainty.WIDE, rtol=1e-4)  # Student's, with one degree of freedom


def together(table):
    """Errors (folds, series, columns) beyond ends, in runs that folds hide at the same times of all series."""
    folds, series, columns = table.shape
    fold, row, column = (index.ravel() for index in np.indices(table.shape))
    errors = beyond(table.ravel(), columns)
    times = fold * columns + column
    return errors._replace(entries=row * folds * columns + times, series=row, times=times)


@pytest.mark.parametrize("signs", [np.ones(20), np.tile([1.0, -1.0], 10)])
def test_errors_of_series_that_end_together_count_as_one(signs):
    rng, folds = np.random.default_rng(0), 12
    alike = np.broadcast_to(rng.normal(size=(folds, 1, 1)) * signs[:, None], (folds, 20, 3))
    free = rng.normal(size=(folds, 20, 3))
    found = [uncertainty.count_independent(together(one), np.ones(one.size)) for one in (alike, free)]
    assert folds <= found[0] < 1.2 * folds and 0.8 * free.size < found[1] <= free.size
    half = uncertainty.count_independent(together((alike + free) / 2**0.5), np.ones(free.size))
    assert 1.5 * found[0] < half < 0.5 * found[1]


def test_errors_of_more_series_than_are_compared_are_all_counted():
    rng = np.random.default_rng(0)
    free = rng.normal(size=(4, 300, 5))
    assert 0.7 * free.size < uncertainty.count_independent(together(free), np.ones(free.size)) <= free.size


def test_many_independent_errors_in_few_folds_widen_no_interval():
    rng, widths = np.random.default_rng(0), []
    for own in (1.0, 0.0):  # standard deviation of what a series does not share
        parts = []
        for fold in range(3):
            table = own * rng.normal(size=(1, 40, 20)) + (1 - own) * rng.normal(size=(1, 1, 1))
            errors = together(table)
            parts.append(errors._replace(runs=errors.runs + 40 * fold, times=errors.times + 20 * fold))
        found = uncertainty.learn_with_growth(parts, [np.ones(800)] * 3)
        sizes = np.abs(np.concatenate([part.residuals for part in parts]))
        widths.append(found.at(parts[0].kinds, parts[0].features, np.ones(800))[0] / np.quantile(sizes, 0.9))
    assert uncertainty.WIDE * widths[0] < 1.06 and uncertainty.WIDE * widths[1] > 1.3


def test_two_runs_of_errors_that_agree_have_wide_intervals():
    widths = []
    for length in (40, 1):
        parts = [beyond(sign * np.ones(40), length) for sign in (1, -1)]
        found = uncertainty.learn_with_growth(parts, [np.ones(40)] * 2)
        widths.append(uncertainty.WIDE * found.at(parts[0].kinds, parts[0].features, np.ones(40))[0])
    assert widths[0] > 3 and widths[1] < 1.1


@pytest.mark.slow
def test_deviations_at_the_end_grow_with_distance_and_slope(tmp_path):
    values, missing = trends(), np.zeros((6, 120), bool)
    missing[:, -20:] = True
    share, model = covered(values, missing, "interpolation")
    found = model.deviation_[:, -20:]
    assert (found[1:, -1] > 4 * found[1:, 0]).all() and (found[-1] > 2 * found[0]).all() and share >= 0.85
    model.save(tmp_path / "m.gpukit")
    np.testing.assert_array_equal(
        load_model(tmp_path / "m.gpukit").plan_.deviations.growth, model.plan_.deviations.growth
    )


@pytest.mark.slow
def test_trends_are_continued_within_their_noise():
    values, missing = trends(), np.zeros((6, 120), bool)
    missing[:2, -24:] = True
    share, model = covered(values, missing)
    lines = [np.polyval(np.polyfit(np.arange(96), row[:96], 1), np.arange(96, 120)) for row in values[:2]]
    errors = np.abs(np.array([model.completed_[:2, -24:], lines]) - values[:2, -24:]).mean(axis=(1, 2))
    assert errors[0] < 1.05 * errors[1] and share >= 0.8


@pytest.mark.nightly
@pytest.mark.parametrize("rows, length", [(8, 20), (1, 12), (1, 30), (8, 60)])
def test_intervals_beyond_the_end_hold_what_they_promise(rows, length):
    shares = []
    for seed in range(6):
        values, missing = drifts(seed), np.zeros((8, 150), bool)
        missing[:rows, -length:] = True
        shares.append(covered(values, missing)[0])
    assert 0.8 <= np.mean(shares) <= 1.0


def walks(seed, count=5, columns=100, common=0.6):
    """Random walks (N, T) whose changes have a common part, a share of their variance."""
    rng = np.random.default_rng(seed)
    own, shared = rng.normal(size=(count, columns)), rng.normal(size=columns)
    return np.cumsum((1 - common) ** 0.5 * own + common**0.5 * shared, axis=1)


@pytest.mark.slow
def test_intervals_of_walks_that_end_together_hold():
    shares, missing = [], np.zeros((5, 100), bool)
    missing[:, -25:] = True
    for seed in range(20):
        shares.append(covered(walks(seed), missing, "interpolation")[0])
    assert 0.85 <= np.mean(shares) <= 0.97


@pytest.mark.slow
@pytest.mark.parametrize("phi", [0.5, 0.9])
def test_intervals_of_unrelated_series_that_end_together_are_not_wide(phi):
    shares, missing = [], np.zeros((12, 100), bool)
    missing[:, -15:] = True
    for seed in range(20):
        rng = np.random.default_rng(seed)
        values = np.array([autoregression(rng, 100, phi) for _ in range(12)])
        shares.append(covered(values, missing, "vertex-mean" if phi < 0.9 else "interpolation")[0])
    assert 0.85 <= np.mean(shares) <= 0.93


def autoregression(rng, columns, phi, sizes=1.0):
    """A series (T,) with correlation phi and noise of the sizes."""
    values, noise = np.zeros(columns), rng.normal(size=columns) * sizes
    for column in range(1, columns):
        values[column] = phi * values[column - 1] + noise[column]
    return values


SERIES = {
    "AR(1), 0.5": lambda rng: autoregression(rng, 200, 0.5),
    "AR(1), 0.95": lambda rng: autoregression(rng, 200, 0.95),
    "random walk": lambda rng: autoregression(rng, 200, 1.0),
    "drift": lambda rng: autoregression(rng, 200, 1.0) + 0.3 * np.arange(200),
    "season": lambda rng: 3 * np.sin(np.arange(200) * np.pi / 6) + autoregression(rng, 200, 0.8),
    "noise grows": lambda rng: autoregression(rng, 200, 0.5, np.where(np.arange(200) < 130, 1.0, 4.0)),
    "walk grows": lambda rng: autoregression(rng, 200, 1.0, np.where(np.arange(200) < 130, 1.0, 4.0)),
}


@pytest.mark.nightly
@pytest.mark.parametrize("name", SERIES)
def test_intervals_at_the_end_of_one_series_hold(name):
    shares, missing = [], np.arange(200)[None] >= 170
    for seed in range(40):
        shares.append(covered(SERIES[name](np.random.default_rng(seed))[None], missing)[0])
    assert 0.8 <= np.mean(shares) <= 1.0


def test_long_runs_are_learned_from_values_as_far_from_an_observation(monkeypatch):
    """Two thirds of what is observed are missing; runs of a sixth choose the method."""
    missing, hidden = np.zeros((8, 150), bool), []
    missing[:, -60:] = True
    learn = uncertainty.learn_with_growth
    monkeypatch.setattr(uncertainty, "learn_with_growth", lambda *given: hidden.append(given) or learn(*given))
    _, model = covered(drifts(0), missing, "interpolation")
    (errors, *_), *others = hidden
    assert not others and [len(part.residuals) for part in errors] == [8 * 15] * 3 + [8 * 11, 8 * 22, 8 * 33, 8 * 44]
    assert [row.folds for row in model.report_] == [3] * len(model.report_)
