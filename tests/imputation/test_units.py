"""Sensors in different units: scaled by their own spreads, returned in their own units."""

import numpy as np
import pytest

from gpukit import GraphImputer, graph_from_series, load_model
from gpukit.errors import DataError
from gpukit.imputation.problem import moments, units_of
from gpukit.imputation.saving import units_in
from gpukit.persist import Arrays

SIZES = np.array([1.0, 0.02, 3e6, 40.0])
LEVELS = np.array([5.0, 0.0, 2e7, -300.0])


def series(columns=120, seed=0):
    """Return (values (4, T) in one unit, seen)."""
    rng, t = np.random.default_rng(seed), np.arange(columns)
    common = np.sin(t / 7.0) + np.cumsum(rng.normal(size=columns)) / 8
    values = common * np.array([[1.0], [-1.0], [0.8], [1.2]]) + 0.1 * rng.normal(size=(4, columns))
    return values, rng.random(values.shape) < 0.8


def unlike(values):
    """Return the series in different units."""
    return values * SIZES[:, None] + LEVELS[:, None]


def test_spreads_and_means_are_those_of_what_is_seen():
    values, seen = unlike(series()[0]), series()[1]
    found = units_of(np.where(seen, values, 0.0), seen)
    for row in range(4):
        assert found.level[row] == pytest.approx(values[row][seen[row]].mean(), rel=1e-12)
        assert found.size[row] == pytest.approx(values[row][seen[row]].std(), rel=1e-9)


def test_what_does_not_change_has_the_others_spread():
    values, seen = unlike(series()[0]), series()[1]
    values[1] = 0.1  # whose mean is not 0.1 to the bit
    values = np.where(seen, values, 0.0)
    assert moments(values, seen)[1, 1] == 0
    assert units_of(values, seen).size[1] == np.median(moments(values, seen)[[0, 2, 3], 1])


def test_one_kind_and_vertices_without_values_stay_as_they_are():
    values, seen = series()
    assert units_of(np.where(seen, 500 * values * np.array([[1.0], [2], [1], [1]]), 0.0), seen) is None
    assert units_of(np.zeros((4, 9)), np.ones((4, 9), bool)) is None
    seen[2] = False
    assert units_of(np.where(seen, unlike(values), 0.0), seen) is None


def test_matrices_without_order_have_none():
    values = np.random.default_rng(0).normal(size=(6, 4, 5)) * 10.0 ** np.arange(6)[:, None, None]
    seen = np.random.default_rng(1).random(values.shape) < 0.8
    found = GraphImputer(device="cpu").prepare(np.ones((6, 6)) - np.eye(6), np.where(seen, values, np.nan)).problem()
    assert found.units is None and not found.ordered
    flat = np.where(seen, values, np.nan).reshape(6, 20)
    found = GraphImputer(device="cpu").prepare(np.ones((6, 6)) - np.eye(6), flat).problem()
    assert found.units is not None and not found.ordered


def test_series_in_time_have_the_size_of_their_changes():
    trend = np.arange(80.0) * np.array([[1.0], [4e3]])
    values, seen = trend + np.random.default_rng(0).normal(size=(2, 80)), np.ones((2, 80), bool)
    seen[0, 10:15] = False
    given = np.where(seen, values, np.nan)
    units = GraphImputer(device="cpu").prepare(None, given, times=np.arange(80)).problem().units
    changes = np.diff(given, axis=1)
    np.testing.assert_allclose(units.size, np.sqrt(np.nanmean(np.square(changes), axis=1)), rtol=1e-9)


def test_a_table_without_order_is_given_back_as_it_was():
    rng = np.random.default_rng(0)
    common = rng.normal(size=(1, 60)) * np.array([[1.0], [1.1], [0.9], [1.0], [1.2], [0.8]])
    sizes = 10.0 ** np.arange(6)[:, None]
    values, seen = sizes * (common + 0.1 * rng.normal(size=common.shape)), rng.random(common.shape) < 0.8
    model = GraphImputer(device="cpu").fit(np.where(seen, values, np.nan).T)
    errors = np.abs(model.completed_.T - values)[~seen] / np.broadcast_to(sizes, seen.shape)[~seen]
    assert model.plan_.units is not None and errors.mean() < 0.3 and (model.completed_.T[seen] == values[seen]).all()


def fitted(values, seen, **options):
    given = np.where(seen, values, np.nan)
    return GraphImputer(device="cpu", **options).fit(graph_from_series(given), given)


@pytest.mark.slow
def test_each_kind_is_filled_in_as_if_it_were_alone_in_its_units():
    values, seen = series()
    given = unlike(values)
    alike = GraphImputer(device="cpu").prepare(graph_from_series(given), np.where(seen, given, np.nan)).problem().units
    model, wanted = fitted(given, seen), fitted(alike.off(given, np.ones_like(seen)), seen)
    missing = ~seen
    estimate, deviation = alike.back(wanted.completed_[missing], wanted.deviation_[missing], missing)
    scale = np.broadcast_to(alike.size[:, None], seen.shape)[missing]
    np.testing.assert_allclose(model.completed_[missing] / scale, estimate / scale, atol=2e-3, rtol=1e-6)
    np.testing.assert_allclose(model.deviation_[missing], deviation, rtol=0.05)
    assert (model.completed_[seen] == given[seen]).all() and (model.deviation_[seen] == 0).all()
    assert model.report_[0].error < 1 and "relative to each sensor's spread" in model.notes_[0]
    inside = np.abs(model.completed_ - given) <= 1.645 * model.deviation_
    assert all(inside[row][missing[row]].mean() > 0.6 for row in range(4))


@pytest.mark.slow
@pytest.mark.parametrize("levels", [np.full(4, 1e9), np.array([5.4e6, -3e7, 1e9, 7e8])])
def test_a_far_level_does_not_hide_the_spread(levels):
    """Stored in float32, values of 1e9 have steps of 64."""
    values, seen = series()
    near, far = fitted(values, seen), fitted(values + levels[:, None], seen)
    missing = ~seen
    errors = [np.abs(m.completed_ - l - values)[missing].mean() for m, l in ((near, 0), (far, levels[:, None]))]
    assert errors[1] < 1.1 * errors[0]
    assert np.median(far.deviation_[missing]) == pytest.approx(np.median(near.deviation_[missing]), rel=0.2)
    assert far.report_[0].error == pytest.approx(near.report_[0].error, rel=0.1)
    assert "far from 0" in far.notes_[0] and far.plan_.units.is_level


@pytest.mark.parametrize("scale", [1e-40, 1e-90])
def test_values_that_float32_cannot_hold_are_refused(scale):
    values, seen = series()
    with pytest.raises(DataError, match="at least 1e-30"):
        fitted(scale * values, seen)


def test_vertices_without_values_have_the_level_of_the_others():
    values, seen = series()
    seen[2] = False
    units = units_of(np.where(seen, values + 1e9, 0.0), seen)
    assert units.is_level and (units.level == units.level[0]).all() and units.level[0] == pytest.approx(1e9, abs=10)


@pytest.mark.slow
def test_bounds_are_those_of_the_values():
    values, seen = unlike(series()[0]), series()[1]
    assert fitted(values, seen, minimum=4.0).completed_[~seen].min() >= 4.0


@pytest.mark.slow
def test_a_kept_imputer_fills_in_new_readings_in_the_same_units(tmp_path):
    values, seen = series(150)
    given = unlike(values)
    model = fitted(given[:, :120], seen[:, :120])
    model.save(tmp_path / "m.gpukit")
    again, units = load_model(tmp_path / "m.gpukit"), model.plan_.units
    np.testing.assert_array_equal(again.plan_.units.size, units.size)
    np.testing.assert_array_equal(again.plan_.units.level, units.level)
    new, gaps = np.where(seen, given, np.nan)[:, 120:], ~seen[:, 120:]
    found, scale = again.transform(new), np.broadcast_to(units.size[:, None], gaps.shape)[gaps]
    np.testing.assert_array_equal(found, model.transform(new))
    again.extend(new)
    deviation = again.deviation_[:, 120:][gaps] / scale
    assert 0.02 < deviation.min() and deviation.max() < 2.0
    assert (np.abs(found - given[:, 120:])[gaps] / scale).mean() < 0.5


@pytest.mark.parametrize(
    "size, message", [(0.0, "spreads are above 0"), (np.nan, "plan.units.size"), (1.0, "plan.units")]
)
def test_damaged_units_are_refused(size, message):
    level = np.zeros(3 if size == 1 else 2)
    arrays = {"plan.units.level": level, "plan.units.size": np.full(2, size), "completed": np.eye(2)}
    with pytest.raises(DataError, match=message):
        units_in(Arrays("m.gpukit", arrays))


def test_deviations_of_the_spectral_method_do_not_depend_on_the_level():
    """The floor of deviations was a share of the level, far above the errors."""
    values, seen = series()
    near, far = (
        GraphImputer(method="spectral", device="cpu").fit(graph_from_series(values), values + level, seen)
        for level in (0.0, 1e8)
    )
    assert far.deviation_.max() == pytest.approx(near.deviation_.max(), rel=0.01)
