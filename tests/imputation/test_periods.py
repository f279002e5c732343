"""Detection of the order of columns and of their period."""

from types import SimpleNamespace

import numpy as np
import pytest

from gpukit.imputation.periods import in_time, lags_of, peak_height, period_of, rising_times

VERTICES = 20


def drift(count, stay, seed=0):
    """Return (VERTICES, count): autocorrelated series, half of it common to all."""
    rng = np.random.default_rng(seed)
    noise = rng.normal(size=(VERTICES, count)) + rng.normal(size=count)
    for t in range(1, count):
        noise[:, t] = stay * noise[:, t - 1] + np.sqrt(1 - stay * stay) * noise[:, t]
    return noise


def daily(count, day, seed=0):
    """Return series with a sharp peak and a broad one each day.

    Sizes differ by vertex; noise is added.
    """
    hour, size = np.arange(count) % day / day, np.random.default_rng(seed).uniform(0.5, 2, (VERTICES, 1))
    shape = np.exp(-(((hour - 0.3) / 0.04) ** 2)) + 0.8 * np.exp(-(((hour - 0.7) / 0.1) ** 2))
    return 4 * size * shape + 0.5 * drift(count, 0.8, seed)


def masked(values, seed=0):
    """Return (values, 0 where missing; seen): a fifth missing, and two whole vertices."""
    seen = np.random.default_rng(seed).random(values.shape) > 0.2
    seen[:2] = False
    return np.where(seen, values, 0.0), seen


@pytest.mark.parametrize("count, day", [(720, 24), (1440, 288), (400, 96), (101, 24)])
def test_a_day_is_found(count, day):
    for seed in range(3):
        assert period_of(*masked(daily(count, day, seed), seed), (1, count)) == day


def test_a_week_of_days_is_found():
    week = 10 + 5.0 * (np.arange(365) % 7 > 4)
    assert period_of(*masked(week * np.linspace(1, 3, VERTICES)[:, None] + drift(365, 0.7)), (1, 365)) == 7


def test_a_week_of_hours_has_days():
    hours = np.arange(24 * 60)
    values = daily(len(hours), 24) * np.where(hours // 24 % 7 > 4, 0.5, 1.0)
    assert period_of(*masked(values), (1, len(hours))) == 24


def test_days_among_spells_of_nine_days_are_days():
    hours, rng = np.arange(744), np.random.default_rng(0)
    spells = 2 * np.sin(2 * np.pi * hours / 216 + rng.uniform(0, 6, (VERTICES, 1)))
    values = np.sin(2 * np.pi * hours / 24) + spells + 0.3 * rng.normal(size=(VERTICES, 744))
    assert period_of(values, np.ones(values.shape, bool), (1, 744)) == 24


@pytest.mark.parametrize("stay", [0.0, 0.7, 0.97, 1.0 - 1e-6])
@pytest.mark.parametrize("count", [60, 365, 744])
def test_nothing_that_repeats(stay, count):
    found = [period_of(*masked(drift(count, stay, seed), seed), (1, count)) for seed in range(5)]
    assert found == [0] * 5


def test_a_weak_day_is_found_where_times_say_what_a_day_is():
    count = 400
    values = drift(count, 0.98) + 0.8 * np.sin(2 * np.pi * np.arange(count) / 24)
    case, times = masked(values), np.arange(count) * 3600.0
    assert period_of(*case, (1, count), times) == 24
    assert period_of(*masked(drift(count, 0.9)), (1, count), times) == 0
    two_days = masked(daily(56, 24))
    assert period_of(*two_days, (1, 56)) == 0 and period_of(*two_days, (1, 56), times[:56]) == 24
    assert period_of(*two_days, (1, 56), np.r_[0.0, times[1:56] + 1]) == 0  # not even


def test_rows_of_slices_are_periods():
    assert period_of(*masked(drift(60, 0.5)), (3, 20)) == 20


def test_one_vertex_has_not_all_the_say():
    values = daily(720, 24)
    values[0] = 1e6 * np.sin(2 * np.pi * np.arange(720) / 90)
    values[2] = 7.0
    seen = np.ones(values.shape, bool)
    assert period_of(values, seen, (1, 720)) == 24


def test_too_little_to_repeat():
    assert period_of(np.ones((3, 1)), np.ones((3, 1), bool), (1, 1)) == 0
    assert period_of(np.ones((3, 40)), np.ones((3, 40), bool), (1, 40)) == 0


def test_half_a_period_is_none():
    curve = np.cos(2 * np.pi * np.arange(400) / 40)
    assert peak_height(curve, 40) > 1.5 and peak_height(curve, 20) == 0 and peak_height(curve, 80) < 0.1


def test_an_order_is_detected_from_values():
    values, seen = masked(daily(300, 50))
    mixed = np.random.default_rng(1).permutation(300)
    assert in_time(values, seen) and not in_time(values[:, mixed], seen[:, mixed])


def autoregress(coefficients, shape, seed=0):
    """Return series (N, T) of an autoregression from noise.

    The coefficients are at lags 1, 2, ...
    """
    values = np.random.default_rng(seed).normal(size=shape)
    for t in range(len(coefficients), shape[1]):
        values[:, t] += sum(one * values[:, t - lag] for lag, one in enumerate(coefficients, 1))
    return values


@pytest.mark.parametrize("coefficients", [(-0.7,), (-0.4,), (0.4,), (0, 0.5), (0, -0.5), (-0.5, -0.5)], ids=str)
@pytest.mark.parametrize("shape", [(2, 300), (6, 100)], ids=str)
def test_dependence_of_either_sign_is_an_order(coefficients, shape):
    seen = np.random.default_rng(3).random(shape) > 0.1
    for seed in range(5):
        assert in_time(np.where(seen, autoregress(coefficients, shape, seed), 0), seen)


@pytest.mark.nightly
@pytest.mark.parametrize("shape", [(1, 20), (3, 40), (10, 200), (100, 9)], ids=str)
def test_shuffled_columns_seldom_look_ordered(shape):
    rng = np.random.default_rng(0)
    found = [in_time(*shuffled(rng, np.cumsum(rng.normal(size=shape), axis=1))) for _ in range(100)]
    assert np.mean(found) <= 0.05


def shuffled(rng, values):
    """(values, seen) with a tenth missing and the columns in random order."""
    values, seen = values[:, rng.permutation(values.shape[1])], rng.random(values.shape) > 0.1
    return np.where(seen, values, 0), seen


@pytest.mark.slow
def test_low_rank_alone_is_no_order():
    rng = np.random.default_rng(0)
    found = []
    for _ in range(60):
        left, right = rng.normal(size=(20, 10, 2)), rng.normal(size=(20, 8, 2))
        values = np.einsum("vir,vjr->vij", left, right).reshape(20, 80)
        found.append(in_time(values, np.ones(values.shape, bool), (10, 8)))
    assert np.mean(found) <= 0.06


def test_ties_and_constants_are_no_order():
    values = np.where(np.random.default_rng(1).random((5, 60)) < 0.02, 1.0, 0.0)
    assert not in_time(values, np.ones(values.shape, bool))
    assert not in_time(np.zeros((3, 40)), np.ones((3, 40), bool))


def test_columns_a_period_apart_do_not_hide_the_order():
    """Half, a third and a fifth of 720 hours are whole days."""
    profile = np.maximum(0, np.sin(2 * np.pi * (np.arange(720) % 24) / 24)) ** 4
    assert in_time(*masked(profile * np.linspace(1, 2, VERTICES)[:, None]))


def test_times_that_rise():
    np.testing.assert_array_equal(rising_times(np.array([5, 7, 8])), [0, 2, 3])
    assert rising_times(np.array([5, 5, 8])) is None and rising_times(np.array([5])) is None


@pytest.mark.parametrize(
    "period, columns, lags", [(0, 99, []), (4, 7, []), (4, 8, [4]), (4, 55, [4]), (4, 56, [4, 28]), (1, 14, [7])]
)
def test_lags_occur_twice(period, columns, lags):
    assert lags_of(SimpleNamespace(period=period, values=np.zeros((2, columns)))) == lags
