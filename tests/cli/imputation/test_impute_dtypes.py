"""Types of columns after `gpukit impute`.

Whole numbers, booleans, Parquet's and an archive's dtypes, bounds.
"""

import numpy as np
import pandas
import pytest
from cli_support import CPU

QUICK = ("--method", "smoothness", *CPU)
T = 40
TIMES = pandas.date_range("2020-03-01", periods=T, freq="h")
RNG = np.random.default_rng(0)
BASE = 50 + 5 * np.cumsum(RNG.normal(size=(T, 5)), axis=0)
HOLES = RNG.random(BASE.shape) < 0.2
LONG = {"time": ("time", "time"), "station": ("a", "a"), "value": ("a", "a")}
SPELLED = {
    "whole": lambda one: str(round(one)),
    "point": lambda one: f"{round(one)}.0",
    "exponent": lambda one: f"{one / 10:.2f}e1",
    "flag": lambda one: str(one > 50).lower(),
    "padded": lambda one: f"{round(one):04d}",
}


def cells():
    """Return times by sensors as words, '' for missing ones."""
    columns = {
        name: ["" if hole else spell(one) for one, hole in zip(BASE[:, at], HOLES[:, at])]
        for at, (name, spell) in enumerate(SPELLED.items())
    }
    return pandas.DataFrame(columns, TIMES.strftime("%Y-%m-%d %H:%M:%S").rename("time"))


def table(path, turned=False):
    """Write cells() as a csv."""
    frame = cells()
    frame = frame.drop(columns="flag").T.rename_axis("sensor") if turned else frame
    frame.to_csv(path)
    return frame


def impute(verb, source, out, *more):
    result = verb("impute", source, *QUICK, *more, "--output", out)
    assert result.code == 0, result.err


@pytest.mark.slow
@pytest.mark.parametrize("turned", [False, True])
def test_a_csv_without_points_has_none_afterwards(verb, tmp_path, turned):
    before = table(tmp_path / "in.csv", turned)
    impute(verb, tmp_path / "in.csv", tmp_path / "out.csv")
    after = pandas.read_csv(tmp_path / "out.csv", index_col=0, dtype=str)
    observed = before != ""
    assert (after == before)[observed].equals(before.where(observed).notna().where(observed))  # exactly
    filled = {
        name: (after.T if turned else after)[name][HOLES[:, at]]
        for at, name in enumerate(SPELLED)
        if not (turned and name == "flag")
    }
    assert all(one.isdecimal() for name in ("whole", "padded") for one in filled[name])
    assert any("." in one for one in filled["point"]) and any("." in one for one in filled["exponent"])
    assert turned or set(filled["flag"]) <= {"true", "false"}


@pytest.mark.slow
def test_a_csv_of_readings(verb, tmp_path):
    long = cells()[["whole", "padded"]].reset_index().melt("time", var_name="station", value_name="count")
    long.to_csv(tmp_path / "in.csv", index=False)
    for name in ("out.csv", "out.parquet"):
        impute(verb, tmp_path / "in.csv", tmp_path / name)
    assert pandas.read_csv(tmp_path / "out.csv", dtype=str)["count"].str.fullmatch(r"\d+").all()
    assert pandas.read_parquet(tmp_path / "out.parquet")["count"].dtype == np.int64


@pytest.mark.slow
def test_a_csv_as_parquet(verb, tmp_path):
    table(tmp_path / "in.csv")
    impute(verb, tmp_path / "in.csv", tmp_path / "out.parquet")
    got = pandas.read_parquet(tmp_path / "out.parquet")
    kinds = {name: got[name].dtype.kind for name in SPELLED}
    assert kinds == {"whole": "i", "point": "f", "exponent": "f", "flag": "b", "padded": "i"}


@pytest.mark.slow
def test_a_sensor_without_readings_is_as_the_others_are(verb, tmp_path):
    (tmp_path / "edges.csv").write_text("whole,padded\npadded,none\n")
    frame = cells()[["whole", "padded"]].assign(none="")
    frame.to_csv(tmp_path / "in.csv")
    impute(verb, tmp_path / "in.csv", tmp_path / "out.csv", "--edges", tmp_path / "edges.csv")
    assert pandas.read_csv(tmp_path / "out.csv", dtype=str)["none"].str.fullmatch(r"\d+").all()
    frame["point"] = cells()["point"]
    frame.to_csv(tmp_path / "in.csv")
    (tmp_path / "edges.csv").write_text("whole,padded\npadded,none\nnone,point\n")
    impute(verb, tmp_path / "in.csv", tmp_path / "two.csv", "--edges", tmp_path / "edges.csv")
    assert pandas.read_csv(tmp_path / "two.csv", dtype=str)["none"].str.contains(".", regex=False).any()


@pytest.mark.slow
@pytest.mark.parametrize("long", [False, True])
def test_parquet_keeps_its_columns(verb, tmp_path, long):
    import pyarrow
    from pyarrow import parquet

    kinds = {"a": pyarrow.int16(), "b": pyarrow.float32(), "c": pyarrow.float64(), "d": pyarrow.bool_()}
    columns = {"time": pyarrow.array(TIMES.to_numpy())}
    for at, (name, kind) in enumerate(kinds.items()):
        known = BASE[:, at] > 50 if name == "d" else BASE[:, at].round()
        columns[name] = pyarrow.array([None if hole else one for one, hole in zip(known.tolist(), HOLES[:, at])], kind)
    if long:
        columns = {name: pyarrow.concat_arrays([columns[of] for of in two]) for name, two in LONG.items()}
        columns["station"] = pyarrow.array(["s"] * T + ["r"] * T)
    given = pyarrow.table(columns)
    parquet.write_table(given, tmp_path / "in.parquet")
    impute(verb, tmp_path / "in.parquet", tmp_path / "out.parquet")
    got = parquet.read_table(tmp_path / "out.parquet")
    values = slice(2 if long else 1, None)
    assert got.schema.types[values] == given.schema.types[values]
    for name in given.column_names[1:]:
        assert got[name].null_count == 0
        kept = [(a, b) for a, b in zip(given[name].to_pylist(), got[name].to_pylist()) if a is not None]
        assert all(a == b for a, b in kept)


@pytest.mark.slow
def test_an_archive_keeps_its_dtype(verb, tmp_path):
    for dtype in (np.uint8, bool, np.float16):
        values = BASE.T > 50 if dtype is bool else BASE.T.astype(dtype)
        graph = np.ones((5, 5)) - np.eye(5)
        np.savez(tmp_path / "in.npz", adjacency=graph, tensor=values, mask=~HOLES.T, times=TIMES.to_numpy())
        impute(verb, tmp_path / "in.npz", tmp_path / "out.npz", "--force")
        with np.load(tmp_path / "out.npz") as got:
            assert got["tensor"].dtype == dtype and got["deviation"].dtype == np.float64
            assert (got["tensor"] == values)[~HOLES.T].all()


@pytest.mark.slow
def test_bounds_hold_in_what_is_written(verb, tmp_path):
    table(tmp_path / "in.csv")
    frame = cells()[["whole", "exponent"]]
    frame.to_csv(tmp_path / "in.csv")
    low, high = 43.123456789, 51.987655  # float32 would write 51.987656
    for name in ("out.csv", "out.parquet"):
        impute(verb, tmp_path / "in.csv", tmp_path / name, "--min", str(low), "--max", str(high))
        read = pandas.read_csv if name == "out.csv" else pandas.read_parquet
        got = read(tmp_path / name)
        for at, column in ((0, "whole"), (2, "exponent")):
            filled = got[column][HOLES[:, at]]
            assert filled.min() >= low and filled.max() <= high
            assert column != "whole" or (filled % 1 == 0).all()
        assert got["exponent"][HOLES[:, 2]].max() == high


@pytest.mark.slow
def test_a_fitted_imputer_keeps_the_types_too(verb, tmp_path):
    cells()[["whole", "padded", "point"]].to_csv(tmp_path / "in.csv")
    model = tmp_path / "m.gpukit"
    assert verb("impute", tmp_path / "in.csv", *QUICK, "--save-model", model).code == 0
    result = verb("impute", tmp_path / "in.csv", "--model", model, *CPU, "--output", tmp_path / "out.csv")
    assert result.code == 0, result.err
    after = pandas.read_csv(tmp_path / "out.csv", dtype=str)
    assert after["whole"].str.fullmatch(r"\d+").all() and after["padded"].str.fullmatch(r"\d+").all()
