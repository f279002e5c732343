"""Seasonal means and interpolated residuals."""

import numpy as np
import pytest

from gpukit import GraphImputer, graph_from_series
from gpukit.errors import DataError
from gpukit.imputation import simple
from imputation.auto.test_auto import asked


def days(noise=0.0):
    """(4, 120) series that repeat after 12 columns, a profile of each."""
    rng = np.random.default_rng(0)
    return np.tile(rng.normal(size=(4, 12)), 10) + 5 * rng.normal(size=(4, 1)) + noise * rng.normal(size=(4, 120))


def with_period(values, seen, period=12):
    return asked(values, seen)._replace(period=period)


def test_what_repeats_is_found_again():
    values, seen = days(), np.random.default_rng(1).random((4, 120)) > 0.3
    for setting in simple.seasonal_settings(with_period(values, seen))[:3]:
        np.testing.assert_allclose(simple.seasonal(with_period(values, seen), setting), values, atol=1e-9)


def test_settings_have_a_period_and_seven_and_three_memories():
    values, seen = np.zeros((2, 168)), np.ones((2, 168), bool)
    expected = [{"lag": lag, "memory": memory} for lag in (12, 84) for memory in (None, 3.0, 0.0)]
    assert simple.seasonal_settings(with_period(values, seen)) == expected
    assert simple.seasonal_settings(with_period(values[:, :167], seen[:, :167])) == expected[:3]


def test_what_is_left_fades():
    values, seen = days(), np.ones((4, 120), bool)
    seen[:, 60:72] = False
    moved = np.where(seen, values + 3.0 * (np.arange(120) >= 72) + 3.0 * (np.arange(120) < 60), 0.0)
    moved[1] = values[1]
    problem = with_period(moved, seen)
    flat = simple.seasonal(problem, {"lag": 12, "memory": 0.0})
    np.testing.assert_allclose(flat[0, 60:72], values[0, 60:72] + 3.0)
    steps = np.arange(120) % 24 >= 12
    problem = with_period(np.where(seen, values + steps, 0.0), seen)
    flat = simple.seasonal(problem, {"lag": 12, "memory": 0})
    left = simple.seasonal(problem, {"lag": 12, "memory": 2.0})[0, 60:72] - flat[0, 60:72]
    line = simple.seasonal(problem, {"lag": 12, "memory": None})[0, 60:72] - flat[0, 60:72]
    np.testing.assert_allclose(left, line * np.exp(-np.r_[1:7, 6:0:-1] / 2.0))


def test_unobserved_times_of_the_period_take_the_others_mean():
    values, seen = days(), np.ones((4, 120), bool)
    values[2] = values[0] + 1.0
    seen[2, 5::12] = False
    out = simple.seasonal(with_period(np.where(seen, values, 0.0), seen), {"lag": 12, "memory": 0})
    assert np.isfinite(out).all()
    others = np.delete(values, 2, axis=0)
    expected = values[2][seen[2]].mean() + (others[:, 5] - np.delete(others[:, :12], 5, axis=1).mean(axis=1)).mean()
    np.testing.assert_allclose(out[2, 5], expected, atol=0.02 * values.std())


@pytest.mark.slow
def test_the_last_days_of_all_are_those_of_the_period():
    t = np.arange(480)
    rng = np.random.default_rng(0)
    truth = 10 + 4 * np.sin(2 * np.pi * t / 24 + rng.random((8, 1))) + 0.3 * rng.normal(size=(8, 480))
    seen = np.ones(truth.shape, bool)
    seen[:, -24:] = False
    model = GraphImputer(device="cpu").fit(graph_from_series(np.where(seen, truth, np.nan)), truth, seen)
    assert np.abs(model.completed_ - truth)[~seen].mean() < 0.35
    assert 0.8 < (np.abs(model.completed_ - truth) < 1.645 * model.deviation_)[~seen].mean() <= 1.0


def test_series_without_a_period_are_refused_by_name():
    walks = np.cumsum(np.random.default_rng(0).normal(size=(6, 80)), axis=1)
    with pytest.raises(DataError, match="'seasonal' has nothing to say about these data"):
        GraphImputer(method="seasonal", device="cpu").fit(walks.T, mask=np.random.default_rng(1).random((80, 6)) > 0.2)
