"""Columns that are no sensor, and numbers that stand for missing: what is said of them, and of what nothing is."""

import numpy as np
import pandas as pd
import pytest

from gpukit import GraphImputer
from gpukit.imputation.inputs import read
from gpukit.imputation.tables.suspects import suspects, years

N, T = 4, 60


def readings(seed=0):
    """(N, T) series that nothing is odd about."""
    rng = np.random.default_rng(seed)
    return 10.0 + np.cumsum(rng.normal(size=(N, T)), axis=1)


def told(values, vertices=None):
    return suspects(read(values, None, len(values)), vertices)


def test_nothing_is_said_of_readings():
    values = readings()
    values[1, 5:9] = np.nan
    assert told(values) == []
    values[2] = 7.0  # a sensor that stands still
    assert told(values) == []


@pytest.mark.parametrize("counted", [np.arange(1980.0, 1980 + T), np.arange(T) * -0.1, np.float32(0.3) * np.arange(T)])
def test_a_column_that_counts(counted):
    values = readings()
    values[2] = counted
    (note,) = told(values, np.array(["a", "b", "year", "d"]))
    assert "'year' changes by" in note and "time" in note


def test_what_only_begins_to_count_is_a_sensor():
    values = readings()
    values[1] = np.arange(T)
    values[1, 30] += 0.5
    values[2] = np.arange(T)
    values[2, 30] = np.nan
    assert told(values) == []


@pytest.mark.parametrize("value", [-999.0, 9999.0])
def test_a_number_that_stands_for_missing(value):
    values = readings()
    values[0, :2] = value
    assert told(values) == []  # twice may be chance
    values[3, 7] = value
    (note,) = told(values)
    assert f"3 values are {value:g}" in note and f"--missing-value {value:g}" in note
    values[values == value] = np.nan
    assert told(values) == []


def test_zeros_of_a_night_are_readings():
    values = np.maximum(np.sin(np.arange(T) / 4.0), 0.0) * (50 + np.arange(N))[:, None]
    assert told(values) == []


def test_slices_of_numbers_are_not_looked_at_for_counts():
    values = np.arange(N * T, dtype=float).reshape(N, 6, 10)
    assert told(values) == []


def test_the_imputer_says_so():
    values = readings()
    values[1, 10:14], values[2] = -999.0, np.arange(T)
    values[0, 20] = np.nan
    notes = " ".join(GraphImputer(method="interpolation", device="cpu").fit(np.ones((N, N)), values).notes_)
    assert "-999" in notes and "'2' changes by 1" in notes


@pytest.mark.parametrize(
    "labels, told",
    [
        (np.arange(1929, 1945), True),
        (np.arange(1950, 2000, 5)[::-1], True),
        (np.arange(16), False),
        (np.arange(1, 17), False),
        (np.arange(717440, 717456), False),
        (np.arange(1929, 1932), False),
        (np.r_[1929:1944, 2000], False),
        (np.array([f"s{i}" for i in range(16)]), False),
        (None, False),
    ],
)
def test_labels_that_count_as_years_do_are_told(labels, told):
    notes = list(years(labels))
    assert bool(notes) == told
    assert not told or "--layout" in notes[0]


@pytest.mark.slow
def test_the_years_of_a_table_with_a_line_a_reading_are_told():
    table = pd.DataFrame({"year": np.tile(np.arange(1952, 2012, 5), 9), "life": np.linspace(40.0, 80.0, 108)})
    table.loc[3, "life"] = np.nan
    notes = GraphImputer(device="cpu").fit(table).notes_
    assert any("'year' has each of 12 numbers 9 times" in note and "--columns" in note for note in notes)
    rng = np.random.default_rng(0)
    table["year"] = rng.permutation(table["year"].to_numpy()) + rng.integers(0, 2, 108)
    assert not any("numbers" in note for note in GraphImputer(device="cpu").fit(table).notes_)
