"""Rows whose labels are not times.

Readings with sensors in the index, stations, row numbers, repeated times.
"""

import datetime

import numpy as np
import pandas
import pytest
from support import thinned

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
    "kind, known, levels",
    thinned(
        ["frame", "series", "mixed", "unnamed", "float32"], [True, False], [("site", "time"), ("time", "site")], share=4
    ),
)
def test_readings_with_both_in_the_index(frame, expected, levels, known, kind):
    given = stacked(frame, levels)
    given = given.sample(frac=1, random_state=0) if kind == "mixed" else given
    given = given.rename_axis([None, None]) if kind == "unnamed" else given
    given = given["v"] if kind in ("series", "float32") else given
    given = given.astype(np.float32) if kind == "float32" else given
    got = fill(*([graph()] if known else [None]), given)
    assert type(got) is type(given) and got.index.equals(given.index) and got.index.names == given.index.names
    if kind in ("series", "float32"):
        assert got.name == "v" and got.dtype == given.dtype
    wide = (got if got.ndim == 1 else got["v"]).unstack(levels.index("site"))
    np.testing.assert_allclose(wide[NAMES].to_numpy(), expected.to_numpy(), rtol=1e-6)


def test_pairs_without_a_row_get_none(frame):
    given = stacked(frame).drop([("s1", TIMES[4]), ("s3", TIMES[9])])
    model = GraphImputer(method="interpolation", device="cpu").fit(given)
    assert model.completed_.index.equals(given.index) and model.completed_.notna().all(axis=None)
    assert model.deviation_.index.equals(given.index)
    assert any(note.startswith("2 pairs of a sensor and a time have no row") for note in model.notes_)
    again = model.transform(given.iloc[::-1])
    pandas.testing.assert_frame_equal(again.iloc[::-1], model.completed_)


@pytest.mark.parametrize("times", ["year", "step", "period", "zone", "text", "duration", "dates"])
def test_levels_of_other_times(frame, expected, times):
    made = {
        "year": range(1990, 1990 + T),
        "step": range(T),
        "period": TIMES.to_period("h"),
        "zone": TIMES.tz_localize("Europe/Paris"),
        "text": TIMES.map(str),
        "duration": pandas.to_timedelta(np.arange(T), "h"),
        "dates": [datetime.date(2020, 1, 1) + datetime.timedelta(days=at) for at in range(T)],
    }[times]
    given = stacked(frame.set_axis(pandas.Index(made)))
    got = fill(given)
    np.testing.assert_allclose(got["v"].to_numpy().reshape(N, T).T, expected.to_numpy())


@pytest.mark.slow
@pytest.mark.parametrize("known", [True, False])
def test_one_of_both_in_the_index(frame, expected, known):
    long = stacked(frame).reset_index()
    for index in ("time", "site"):
        given = long.set_index(index)
        got = fill(*([graph()] if known else [None]), given)
        assert got.index.equals(given.index) and got.columns.equals(given.columns)
        wide = got.reset_index().pivot(index="time", columns="site", values="v")
        np.testing.assert_allclose(wide.to_numpy(), expected.to_numpy())


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["filtered", "joined"])
def test_numbers_of_rows_that_are_left_say_nothing(frame, expected, kind):
    long = stacked(frame).reset_index()
    if kind == "filtered":
        more = long.assign(site="x")
        given = pandas.concat([more, long], ignore_index=True).iloc[len(more) :]
    else:
        given = pandas.concat([part.reset_index(drop=True) for _, part in long.groupby("site")])
    got = fill(graph(), given)
    assert got.index.equals(given.index) and got["time"].equals(given["time"])
    np.testing.assert_allclose(got["v"].to_numpy(float).reshape(N, T).T, expected.to_numpy())
    first = frame.rename_axis("time").reset_index().set_axis(range(5, 5 + T))
    got = fill(first)
    assert got.index.equals(first.index) and got["time"].equals(first["time"])
    np.testing.assert_allclose(got[NAMES].to_numpy(), expected.to_numpy())


@pytest.mark.parametrize(
    "change, error",
    [
        (lambda frame: stacked(frame).droplevel("site"), "180 rows at 30 times .*set_index.*reset_index.drop=True"),
        (lambda frame: stacked(frame).droplevel("time"), "'s0', 's0', .*no times"),
        (lambda frame: frame.assign(doy=np.arange(T)).set_axis(pandas.Index([2024] * T, name="year")), "at 1 times"),
        (lambda frame: pandas.concat([frame[[one]].set_axis(["v"], axis=1) for one in NAMES]), "180 rows at 30 times"),
        (lambda frame: frame.set_axis([f"r{at}" for at in range(T)]), "'r0', 'r1', .*rename_axis.index='time'"),
        (lambda frame: frame.set_axis(pandas.Categorical([f"r{at}" for at in range(T)])), "'r0', 'r1', .*no times"),
        (lambda frame: frame.set_axis([7 * at % 31 for at in range(T)]), "'0', '7', .*no times"),
        (lambda frame: frame.T.set_axis([f"t{at}" for at in range(T)], axis=1), "'s0', 's1', .*no times"),
        (lambda frame: stacked(frame).assign(w=1.0), r"2 columns: fill in one at a time, frame\[\['v'\]\].*\['site'\]"),
        (lambda frame: stacked(frame).rename(index={TIMES[3]: pandas.NaT}, level=1), "row 4: this reading has no time"),
        (lambda frame: pandas.concat([stacked(frame), stacked(frame) + 1]), "sensor 's0' at 2020-03-01 00:00:00 is"),
        (lambda frame: frame.set_axis(pandas.MultiIndex.from_product([NAMES[:3], TIMES[:2]]), axis=1), "frame.stack.1"),
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
    for got in (fill(graph(), given), fill(given)):
        assert got.columns.equals(given.columns)
        np.testing.assert_allclose(got.to_numpy(), expected.to_numpy())
