"""Times: in any order, repeated, of clocks that are set back or forward."""

import numpy as np
import pandas
import pytest

from gpukit import GraphImputer, read_graph
from gpukit.imputation import forms
from gpukit.imputation.inputs import clock_of
from gpukit.imputation.periods import HOUR

START = 1_583_000_000


def test_rising_times_stay():
    times = START + np.array([0, 10, 11, 500])
    found = clock_of(times)
    assert found.at.tolist() == times.tolist() and found.order is None and not found.notes


@pytest.mark.parametrize("times", [None, [7, 7, 7]])
def test_times_that_tell_nothing(times):
    found = clock_of(None if times is None else np.array(times))
    assert found.at is None and found.order is None


def test_times_are_sorted_and_back():
    rng = np.random.default_rng(0)
    order = rng.permutation(50)
    found = clock_of(START + 60 * order)
    assert np.array_equal(found.at, START + 60.0 * np.arange(50))
    columns = rng.normal(size=(3, 50))
    np.testing.assert_array_equal(found.moved(columns), columns[:, np.argsort(order)])
    np.testing.assert_array_equal(found.back(found.moved(columns)), columns)


def test_times_that_repeat_are_next_to_each_other():
    found = clock_of(START + np.array([0, 60, 60, 60, 120, 120]))
    assert (np.diff(found.at) > 0).all()
    assert found.notes == ["times repeat: their columns count as next to each other."], "a clock may be right"
    np.testing.assert_allclose(found.at - START, [0, 60, 70, 80, 120, 135])


@pytest.mark.parametrize("unit", [1, 10**3, 10**6, 10**9])
def test_milliseconds_read_as_seconds_are_reported(unit):
    """Days are not found then, so values differ from those of the same times in seconds."""
    times = unit * (START + 3600 * np.arange(30))
    reported = ["milliseconds" in note for note in clock_of(times).notes]
    assert reported == [True] * (unit > 1)
    assert ["milliseconds" in note for note in clock_of(times[::-1]).notes] == reported
    frame = pandas.DataFrame({"a": [1.0, np.nan, 3.0] * 10, "b": [2.0, 5.0, 4.0] * 10}, times).rename_axis("time")
    model = GraphImputer(method="interpolation").fit(None, frame)
    assert sum("milliseconds" in note for note in model.notes_) == (unit > 1)


def test_times_of_a_clock_that_is_set_back_count_as_repeated():
    whole = START + 1800 * np.arange(100)
    found = clock_of(whole - HOUR * (np.arange(100) >= 50))
    assert (np.diff(found.at) > 0).all() and found.order is not None and "repeat" in found.notes[0]


def test_a_clock_that_is_set_forward_leaves_a_gap():
    whole = START + 600 * np.arange(400)
    found = clock_of(whole + HOUR * (np.arange(400) > 100))
    assert found.order is None and np.diff(found.at).max() == 600 + HOUR


@pytest.mark.parametrize("kind", ["gaps", "irregular", "repeated"])
def test_series_at_odd_times_are_filled_in_well(kind):
    """Missing values of a slow wave are recovered at any times."""
    rng = np.random.default_rng(1)
    at = START + 3600.0 * np.arange(120)
    if kind == "gaps":
        at = np.delete(at, rng.choice(119, 30, replace=False))
    if kind == "irregular":
        at = START + np.sort(rng.random(120)) * 120 * 3600
    if kind == "repeated":
        at = np.sort(np.concatenate((at[:100], at[30:40])))
    truth = np.sin(at / 100_000)[None] + np.arange(4.0)[:, None]
    order = rng.permutation(len(at))
    hidden = rng.random(truth.shape) < 0.2
    frame = pandas.DataFrame(np.where(hidden, np.nan, truth).T, pandas.to_datetime(at, unit="s"), list("abcd"))
    model = GraphImputer(method="interpolation", device="cpu").fit(frame.iloc[order])
    got = model.completed_.iloc[np.argsort(order)].to_numpy().T
    assert np.abs(got - truth)[hidden].max() < 0.15 and np.array_equal(got[~hidden], truth[~hidden])


OFFSETS = np.sort(np.random.default_rng(5).choice(4_000, 40, replace=False)) / 200  # seconds, of unequal distances
DATES = pandas.Timestamp(START, unit="s") + pandas.to_timedelta(OFFSETS, unit="s")
CLOCKS = {
    "dates": DATES,
    "a zone": DATES.tz_localize("UTC").tz_convert("Asia/Tokyo"),
    "durations": pandas.to_timedelta(OFFSETS, unit="s"),
    "texts": DATES.strftime("%Y-%m-%d %H:%M:%S.%f"),
    "a day and a clock": DATES.strftime("%d.%m.%Y %H:%M:%S.%f"),
    "numbers": OFFSETS,
    "named numbers": pandas.Index(OFFSETS, name="time"),
    "falling numbers": -OFFSETS,
    "whole numbers": np.round(200 * OFFSETS).astype(int),
    "years": 2 * np.arange(1_900, 1_940) - (np.arange(40) % 3 == 0),
}


def gappy(offsets):
    """A table of lines in time with gaps, and without."""
    full = pandas.DataFrame({"a": 2 * offsets, "b": 5 - offsets, "c": offsets / 3})
    seen = np.random.default_rng(1).random(full.shape) > 0.2
    seen[[0, -1]] = True
    return full.where(seen), full


@pytest.mark.parametrize("kind", CLOCKS)
@pytest.mark.parametrize("side", ["index", "times"])
def test_steps_below_a_second_and_of_numbers(kind, side):
    """A line is filled in exactly only if each value is at its own time."""
    clock = CLOCKS[kind]
    offsets = OFFSETS if clock is not CLOCKS["years"] else clock - 1_900.0
    offsets = -offsets if kind == "falling numbers" else offsets
    gaps, full = gappy(offsets)
    imputer = GraphImputer(method="interpolation", device="cpu")
    if side == "times":
        filled = imputer.fit_transform(gaps.to_numpy(), times=np.array(clock))
    else:
        filled = imputer.fit_transform(gaps.set_axis(clock))
    np.testing.assert_allclose(filled, full, atol=1e-4)


@pytest.mark.parametrize("form", ["{:.3f}", "{:.3f} "])
def test_steps_below_a_second_in_a_file(tmp_path, form):
    gaps, full = gappy(OFFSETS)
    gaps.insert(0, "time", [form.format(one) for one in OFFSETS])
    gaps.to_csv(tmp_path / "table.csv", index=False)
    data = read_graph(tmp_path / "table.csv")
    filled = GraphImputer(method="interpolation", device="cpu").fit_transform(data)
    np.testing.assert_allclose(np.squeeze(filled).T, full, atol=1e-6)


def test_numbers_that_spell_months():
    found = forms.times_of(pandas.Index([200011, 200012, 200101, 200103]))
    assert np.array_equal(
        found, pandas.to_datetime(["2000-11", "2000-12", "2001-01", "2001-03"]).astype("M8[s]").astype(int)
    )


@pytest.mark.parametrize("name", ["", "index", "step", "time"])
def test_numbers_of_unequal_steps_in_a_file(tmp_path, name):
    gaps, full = gappy(OFFSETS)
    gaps.insert(0, name, np.round(200 * OFFSETS).astype(int) + START)
    gaps.to_csv(tmp_path / "table.csv", index=False)
    data = read_graph(tmp_path / "table.csv")
    filled = GraphImputer(method="interpolation", device="cpu").fit_transform(data)
    np.testing.assert_allclose(np.squeeze(filled).T, full, atol=1e-5)


@pytest.mark.parametrize("form", ["%y-%m-%d %H:%M:%S", "%H:%M:%S %d.%m.%Y", "%A, %d %B %Y %H:%M:%S", "%Y-%j %H:%M:%S"])
def test_times_of_an_unknown_spelling_are_named(tmp_path, form):
    gaps, _ = gappy(OFFSETS)
    gaps.insert(0, "time", pandas.date_range("2024", periods=len(gaps), freq="61min").strftime(form))
    gaps.to_csv(tmp_path / "table.csv", index=False)
    with pytest.warns(
        UserWarning, match=r"table.csv: '.*', '.*', ... are no times that are known: lines count as in order"
    ):
        assert read_graph(tmp_path / "table.csv").times is None
