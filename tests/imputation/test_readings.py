"""Rows whose labels are not times: readings with sensors in the index, stations, repeated times."""

import numpy as np
import pandas
import pytest

from gpukit import GraphImputer
from gpukit.errors import DataError
from gpukit.graphs.adjacency import as_adjacency
from gpukit.graphs.tensor import Graph

N, T = 6, 30
NAMES = [f"s{i}" for i in range(N)]
TIMES = pandas.date_range("2020-03-01", periods=T, freq="h")


def fill(*given, method="interpolation", **more):
    return GraphImputer(method=method, device="cpu").fit_transform(*given, **more)


@pytest.fixture
def frame():
    """Return times by sensors of very different series.

    Missing ends would show connections between sensors.
    """
    rng = np.random.default_rng(3)
    values = np.cumsum(rng.normal(size=(T, N)), axis=0) + 100 * np.arange(N)
    values[rng.random((T, N)) < 0.2] = np.nan
    values[-3:, :3] = values[:3, 2:5] = np.nan
    return pandas.DataFrame(values, TIMES, NAMES)


@pytest.fixture
def expected(frame):
    return fill(frame)


def graph():
    A = np.eye(N, k=1) + np.eye(N, k=2)
    return Graph(as_adjacency(A + A.T), np.array(NAMES))


def stacked(frame, levels=("site", "time")):
    """Return a frame of one column, with sensor and time in the index."""
    long = frame.rename_axis(index="time", columns="site").reset_index().melt("time", value_name="v")
    return long.set_index(list(levels))[["v"]]


@pytest.mark.parametrize(
    "change, error",
    [
        (lambda frame: stacked(frame).droplevel("site"), "180 rows at 30 times .*pivot.*reset_index.drop=True"),
        (lambda frame: stacked(frame).droplevel("time"), "'s0', 's0', .*no times"),
        (lambda frame: frame.assign(doy=np.arange(T)).set_axis(pandas.Index([2024] * T, name="year")), "at 1 times"),
        (lambda frame: pandas.concat([frame[[one]].set_axis(["v"], axis=1) for one in NAMES]), "180 rows at 30 times"),
        (lambda frame: frame.set_axis([f"r{at}" for at in range(T)]), "'r0', 'r1', .*rename_axis.index='time'"),
        (lambda frame: frame.set_axis(pandas.Categorical([f"r{at}" for at in range(T)])), "'r0', 'r1', .*no times"),
        (lambda frame: frame.set_axis([7 * at % 31 for at in range(T)]), "'0', '7', .*no times"),
        (lambda frame: frame.T.set_axis([f"t{at}" for at in range(T)], axis=1), "'s0', 's1', .*no times"),
        (stacked, r"2 levels \(site, time\), a row per reading: .* frame\['v'\].unstack\('site'\)"),
        (lambda frame: stacked(frame, ("time", "site")), r"2 levels \(time, site\), .* frame\['v'\].unstack\('site'\)"),
        (lambda frame: stacked(frame)["v"], r"2 levels \(site, time\), .* series.unstack\('site'\)"),
        (lambda frame: stacked(frame)["v"].rename_axis([None, None]), r"2 levels .* series.unstack\(0\)"),
        (lambda frame: frame.set_axis(pandas.MultiIndex.from_product([NAMES[:3], TIMES[:2]]), axis=1).T, "2 levels"),
    ],
)
def test_labels_that_are_no_times_are_refused(frame, change, error):
    with pytest.raises(DataError, match=error) as caught:
        fill(change(frame))
    assert "\n" not in str(caught.value)


@pytest.mark.slow
def test_a_named_side_is_time_or_sensors(frame, expected):
    words = frame.set_axis([f"r{at}" for at in range(T)])
    for given in (words.rename_axis("time"), words.rename_axis("time").T):
        got = fill(given)
        assert got.index.equals(given.index)
        turned = got if got.shape == frame.shape else got.T
        np.testing.assert_allclose(turned.to_numpy(), expected.to_numpy())
    given = frame.T.set_axis(range(T), axis=1).rename_axis("station")
    np.testing.assert_allclose(fill(given).T.to_numpy(), expected.to_numpy())
    model = GraphImputer(method="interpolation", device="cpu").fit(graph(), words)
    assert any("the labels 'r0', 'r1', ... are no times" in note for note in model.notes_)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["duration", "dates", "year"])
def test_labels_that_are_times_tell_the_side(frame, kind):
    """Uneven steps: imputed values follow them, not the number of the row."""
    at = np.cumsum(1 + np.arange(T) % 5)
    day = pandas.Timestamp("2020-01-01")
    index = {
        "duration": pandas.to_timedelta(at, "D"),
        "dates": pandas.Index([(day + pandas.Timedelta(days=int(one))).date() for one in at]),
        "year": pandas.Index(1500 + at, name="year"),
    }[kind]
    truth = pandas.DataFrame(2.0 * at[:, None] + 100 * np.arange(N), index, NAMES)
    given = truth.mask(np.random.default_rng(0).random((T, N)) < 0.3)
    given.iloc[[0, -1]] = truth.iloc[[0, -1]]
    np.testing.assert_allclose(fill(given), truth, rtol=1e-5)
    np.testing.assert_allclose(fill(given.T).T, truth, rtol=1e-5)


@pytest.mark.slow
def test_columns_with_levels(frame, expected):
    given = frame.set_axis(pandas.MultiIndex.from_product([["v"], NAMES]), axis=1)
    got = fill(given)
    assert got.columns.equals(given.columns)
    np.testing.assert_allclose(got.to_numpy(), expected.to_numpy())
