"""`gpukit impute` on tables: each layout is written in its form."""

import re

import numpy as np
import pandas
import pytest
from cli_support import CPU

QUICK = ("--method", "interpolation", *CPU)
TIMES = pandas.date_range("2020-03-01", periods=24, freq="h")
NAMES = ["s3", "s1", "s2", "s9"]


@pytest.fixture(autouse=True)
def bases(tmp_path_factory, monkeypatch):
    """The Fourier bases of these tests are in a separate folder."""
    folder = tmp_path_factory.getbasetemp() / "bases"
    monkeypatch.setattr("gpukit.graphs.basis.cache_folder", lambda: folder)


def frame():
    """Times by sensors; interpolation recovers the missing values."""
    values = np.arange(24.0)[:, None] / 2 + np.array([0.0, 100, 200, 300])
    table = pandas.DataFrame(values, index=TIMES.rename("time"), columns=NAMES)
    hidden = table.copy()
    for time, sensor in ((3, 0), (4, 0), (9, 2), (15, 1), (16, 1), (20, 3)):
        hidden.iloc[time, sensor] = np.nan
    return table, hidden


def places(tmp_path):
    path = tmp_path / "places.csv"
    path.write_text("station,latitude,longitude\ns1,50,10\ns2,50,11\ns3,51,10\ns9,51,11\nelsewhere,0,0\n")
    return path


def long(table):
    """Readings, without the missing ones."""
    out = table.reset_index().melt("time", var_name="station", value_name="temp").dropna()
    return out.sort_values(["time", "station"], kind="stable").reset_index(drop=True)


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("graph", ["coordinates", "edges", "none"])
@pytest.mark.parametrize("layout", ["columns", "rows", "long"])
def test_the_same_table_comes_back(verb, tmp_path, layout, graph, suffix):
    whole, hidden = frame()
    given, wanted = {
        "columns": (hidden, whole),
        "rows": (hidden.T.rename(columns=str), whole.T.rename(columns=str)),
        "long": (long(hidden), long(whole)),
    }[layout]
    source, out = tmp_path / f"in{suffix}", tmp_path / f"out{suffix}"
    index = layout != "long"
    given.to_csv(source, index=index) if suffix == ".csv" else given.to_parquet(source, index=index)
    (tmp_path / "e.txt").write_text("s1 s2\ns2 s3\ns3 s9\n")
    more = {"coordinates": ("--coordinates", places(tmp_path)), "edges": ("--edges", tmp_path / "e.txt"), "none": ()}
    result = verb("impute", source, *more[graph], *QUICK, "--output", out)
    assert result.code == 0, result.err
    assert ("No graph was given" in result.err) == (graph == "none")
    if suffix == ".csv":
        got = pandas.read_csv(out, index_col=0 if index else None)
        wanted = pandas.read_csv(pandas.io.common.StringIO(wanted.to_csv(index=index)), index_col=0 if index else None)
    else:
        got, first = pandas.read_parquet(out), wanted.index.name or "index"
        got = got.set_index(first) if index else got
    assert got.index.tolist() == wanted.index.tolist() and got.columns.tolist() == wanted.columns.tolist()
    if layout == "long":
        assert got.iloc[:, :2].astype(str).equals(wanted.iloc[:, :2].astype(str))
        got, wanted = got[["temp"]], wanted[["temp"]]
    np.testing.assert_allclose(got.to_numpy(float), wanted.to_numpy(float), rtol=1e-6)


@pytest.mark.slow
def test_what_serves_is_said_beside_interpolation(verb, tmp_path):
    table = frame()[1]
    table.iloc[::2] += 1.0
    table.to_csv(tmp_path / "t.csv")
    result = verb("impute", tmp_path / "t.csv", "--method", "vertex-mean")
    assert re.search(
        r"^Chosen: vertex-mean, error \S+ on the hidden values, \S+ times interpolation's", result.out, re.M
    )
    assert "has a lower error, " in result.out


def test_bad_tables_are_one_line(refused, tmp_path):
    _, hidden = frame()
    long(hidden).assign(wind=1.0).to_csv(tmp_path / "l.csv", index=False)
    assert "could be the values" in refused("impute", tmp_path / "l.csv", *QUICK)
    hidden.to_csv(tmp_path / "w.csv")
    (tmp_path / "c.csv").write_text("station,latitude,longitude\ns1,50,10\ns2,50,11\ns3,51,10\n")
    line = refused("impute", tmp_path / "w.csv", "--coordinates", tmp_path / "c.csv", *QUICK)
    assert "no coordinates of 's9'" in line
    assert "does not say" in refused("impute", tmp_path / "w.csv", "--layout", "long", *QUICK)
    assert "columns are time" in refused("impute", tmp_path / "w.csv", "--columns", "time,sensor", *QUICK)


@pytest.mark.slow
def test_a_kept_imputer_fills_in_what_comes_next(verb, refused, tmp_path):
    whole, hidden = (part / 7 for part in frame())
    hidden.iloc[:18].to_csv(tmp_path / "old.csv")
    new = hidden.iloc[18:, [2, 0, 3, 1]]
    new.to_csv(tmp_path / "new.csv")
    model, out = tmp_path / "m.gpukit", tmp_path / "out.csv"
    first = verb("impute", tmp_path / "old.csv", "--coordinates", places(tmp_path), *QUICK, "--save-model", model)
    assert first.code == 0 and model.is_file(), first.err
    result = verb("impute", tmp_path / "new.csv", "--model", model, "--output", out, *CPU)
    assert result.code == 0 and "as it was fitted" in result.out, result.err
    spelled = pandas.read_csv(out, index_col=0, dtype=str).to_numpy()[new.isna().to_numpy()]
    assert len(spelled) and max(map(len, spelled)) < 13  # digits of float32
    got = pandas.read_csv(out, index_col=0)
    assert got.columns.tolist() == new.columns.tolist()
    np.testing.assert_allclose(got.to_numpy(), whole.iloc[18:, [2, 0, 3, 1]].to_numpy(), rtol=1e-6)
    more = ("--save-model", tmp_path / "m2.gpukit", "--window", 10, *CPU)
    assert verb("impute", tmp_path / "new.csv", "--model", model, *more).code == 0
    from gpukit import load_model

    assert load_model(tmp_path / "m2.gpukit").completed_.shape == (4, 10)
    assert "leave out --method" in refused("impute", tmp_path / "new.csv", "--model", model, *QUICK)
    assert "--save-model" in refused("impute", tmp_path / "new.csv", "--model", model, "--window", 9, *CPU)
    assert "--model" in refused("impute", tmp_path / "new.csv", "--window", 9, *CPU)
    new.rename(columns={"s1": "s7"}).to_csv(tmp_path / "other.csv")
    result = verb("impute", tmp_path / "other.csv", "--model", model, *CPU)
    assert result.code == 2 and "s1" in result.err and result.err.strip().count("\n") <= 1, result.err


@pytest.mark.slow
def test_hidden_values_decide_only_where_no_method_is_named(verb, tmp_path):
    frame()[1].to_csv(tmp_path / "in.csv")
    named = verb("impute", tmp_path / "in.csv", *QUICK)
    assert "Method: interpolation\n" in named.out and "as hidden values decided" not in named.out
    auto = verb("impute", tmp_path / "in.csv", *CPU)
    assert ", as hidden values decided" in auto.out
