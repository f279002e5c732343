"""New readings, imputed by a fitted imputer; a moving window.

The imputer uses its own data, also after a round trip.
"""

import numpy as np
import pandas
import pytest

from gpukit import GraphImputer, graph_from_series
from gpukit.errors import DataError, ParameterError

N, T, NEW = 8, 200, 12
NAMES = [f"s{i}" for i in range(N)]
TIMES = pandas.date_range("2020-03-01", periods=T + 4 * NEW, freq="h", name="time")


@pytest.fixture(scope="module")
def truth():
    """Times by sensors: a daily wave, and each sensor's share of a slow one."""
    rng = np.random.default_rng(0)
    at = np.arange(len(TIMES))
    slow = np.cumsum(rng.normal(size=len(TIMES))) / 4
    values = np.sin(at / 24 * 2 * np.pi)[:, None] + slow[:, None] * rng.uniform(0.5, 1.5, N) + 5 * rng.normal(size=N)
    return pandas.DataFrame(values + 0.05 * rng.normal(size=values.shape), TIMES, NAMES)


@pytest.fixture(scope="module")
def hidden(truth):
    return np.random.default_rng(1).random(truth.shape) < 0.25


@pytest.fixture(scope="module")
def given(truth, hidden):
    return truth.mask(hidden)


@pytest.fixture(scope="module")
def model(given):
    return GraphImputer(device="cpu").fit(given[:T])


def error(got, truth, hidden):
    return np.abs(got.to_numpy() - truth.to_numpy())[hidden].mean()


@pytest.mark.slow
def test_the_next_hours_are_filled_in_as_a_fit_would(model, given, truth, hidden, tmp_path):
    new, part = given[T : T + NEW], hidden[T : T + NEW]
    got = model.transform(new)
    assert got.index.equals(new.index) and got.columns.equals(new.columns)
    np.testing.assert_array_equal(got.to_numpy()[~part], new.to_numpy()[~part])
    fresh = GraphImputer(device="cpu").fit(given[: T + NEW]).completed_[T:]
    mine = error(got, truth[T : T + NEW], part)
    assert mine <= 1.05 * error(fresh, truth[T : T + NEW], part) + 0.01
    alone = GraphImputer(device="cpu", method="two-way-mean").fit_transform(new)
    assert mine < error(alone, truth[T : T + NEW], part)
    model.save(tmp_path / "m")
    again = GraphImputer.load(tmp_path / "m").set_params(device="cpu")
    np.testing.assert_array_equal(again.transform(new).to_numpy(), got.to_numpy())
    np.testing.assert_array_equal(model.transform(new.iloc[:, ::-1])[NAMES].to_numpy(), got.to_numpy())


@pytest.mark.slow
def test_overlapping_columns_count_once(model, given):
    new = given[T : T + NEW]
    np.testing.assert_array_equal(
        model.transform(given[T - 5 : T + NEW])[-NEW:].to_numpy(), model.transform(new).to_numpy()
    )


def test_the_last_stored_columns_are_filled_in_as_before(given):
    """They were completed without those before them."""
    model = GraphImputer(method="interpolation", device="cpu").fit(given[:T])
    again = model.transform(given[T - NEW : T])
    pandas.testing.assert_frame_equal(again, model.completed_[T - NEW :])
    pandas.testing.assert_frame_equal(model.transform(given[:T]), model.completed_)


def test_what_a_transform_fills_in_is_not_kept(model, given):
    before = model._held.filled.copy()
    model.transform(given[T : T + NEW])
    np.testing.assert_array_equal(model._held.filled, before)


@pytest.mark.slow
def test_a_window_moves(model, given, truth, hidden, tmp_path):
    model.save(tmp_path / "m")
    moving = GraphImputer.load(tmp_path / "m")
    for step in range(4):
        part = slice(T + step * NEW, T + (step + 1) * NEW)
        got = moving.extend(given[part], window=100)
        assert got.index.equals(given.index[part])
        assert error(got, truth[part], hidden[part]) < 0.3
        assert moving.completed_.shape == moving.deviation_.shape == (N, 100) and moving._held.at.shape == (100,)
    seen = ~hidden[-100:]
    np.testing.assert_array_equal(moving.completed_.T[seen], given[-100:].to_numpy()[seen])
    assert (moving.deviation_.T[~seen] > 0).all() and (moving.deviation_.T[seen] == 0).all()
    moving.save(tmp_path / "again")
    new = pandas.DataFrame(np.nan, TIMES[-1:] + pandas.Timedelta("1h"), NAMES).assign(s0=truth["s0"].iloc[-1])
    one, other = moving.transform(new), GraphImputer.load(tmp_path / "again").transform(new)
    np.testing.assert_array_equal(one.to_numpy(), other.to_numpy())


@pytest.mark.slow
def test_columns_without_times_follow(given):
    values = given.to_numpy().T
    model = GraphImputer(device="cpu", method="interpolation").fit(graph_from_series(values[:, :T]), values[:, :T])
    got = model.extend(values[:, T : T + NEW])
    whole = GraphImputer(device="cpu", method="interpolation").fit(model.adjacency_, values[:, : T + NEW])
    np.testing.assert_allclose(got, whole.completed_[:, T:])
    assert model.completed_.shape == (N, T + NEW)
    assert model.extend(values[:, T + NEW :], window=1).shape == (N, 3 * NEW)  # at least the new ones are kept
    assert model.completed_.shape == (N, 3 * NEW)


def test_the_algorithm_alone_has_no_deviations_of_new_columns(given):
    options = {"device": "cpu", "method": "spectral", "weights": "slice", "center": "none", "iterations": 3}
    model = GraphImputer(**options).fit(None, given[:T])
    assert model.extend(given[T : T + NEW]).notna().all(axis=None)
    assert model.deviation_.shape == (N, T + NEW) and np.isnan(model.deviation_).all()


def test_what_cannot_be_extended(model, given):
    with pytest.raises(ParameterError, match="window"):
        model.extend(given[T : T + NEW], window=0)
    with pytest.raises(DataError, match="'s9' is no vertex"):
        model.extend(given[T : T + NEW].rename(columns={"s0": "s9"}))
    with pytest.raises(DataError, match="matrices"):
        model.extend(given[:T].to_numpy().T.reshape(N, 10, 20))


@pytest.mark.parametrize("rows", [slice(T - 9, T - 5), slice(0, NEW)], ids=["inside", "first"])
def test_stored_readings_are_not_lost_to_earlier_ones(model, given, rows):
    stored = model.completed_.shape
    with pytest.raises(DataError, match="stored times are after the first of the new ones .* would be lost"):
        model.extend(given[rows])
    with pytest.raises(DataError, match=r"^9 stored times"):
        model.extend(given[T - 9 : T].set_axis(TIMES[T - 9 : T] - pandas.Timedelta("5min")))
    assert model.completed_.shape == stored


def test_columns_of_the_last_times_are_replaced(given):
    model = GraphImputer(device="cpu", method="interpolation").fit(None, given[:T])
    model.extend(given[T - 3 : T + 2])
    assert model.completed_.shape == (N, T + 2)
