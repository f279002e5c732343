"""The completed table keeps labels, order, timestamps and observed values, in every layout."""

import io

import numpy as np
import pandas
import pytest

from gpukit.errors import DataError
from gpukit.graphs.completed import is_table, write_completed
from gpukit.graphs.table import read_table

TIMES = ["2014-01-01 00:00:00", "2014-01-01 01:00:00", "2014-01-01 02:00:00", "2014-01-01 03:00:00"]
IDS = ["s01", "s02", "s03"]
CELLS = [["279.250", "", "1e1"], ["280", "-0.5", "nan"], ["NA", "7", "8"], ["0010", "2", "3"]]


def text(separator=",", header=True, labels=True, turned=False, ids=IDS):
    """Times by sensors, or sensors by times."""
    cells, top, side = CELLS, ids, TIMES
    if turned:
        cells, top, side = [list(row) for row in zip(*CELLS)], TIMES, ids
    rows = [[label, *row] if labels else row for label, row in zip(side, cells)]
    head = [["time", *top] if labels else top] if header else []
    return "\n".join(separator.join(row) for row in [*head, *rows]) + "\n"


def completed(path, out, **how):
    """Return the words of the file that write_completed makes of a file; missing values become 0.1, 1.1, ..."""
    found = read_table(path, 3, **how)
    observed = ~np.isnan(found.values)
    filled = np.where(observed, found.values, np.arange(observed.size).reshape(observed.shape) + 0.1)
    write_completed(out, path, filled.astype(np.float32), observed, found.ids, **how)
    return out.read_text(), observed


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("header, labels", [(True, True), (False, False), (False, True), (True, False)])
def test_only_what_is_missing_changes(tmp_path, turned, separator, header, labels):
    source, out = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_text(text(separator, header, labels, turned))
    got, observed = completed(source, out)
    assert (~observed).sum() == 3
    before, after = (
        [line.split(separator) for line in one.splitlines()] for one in (text(separator, header, labels, turned), got)
    )
    assert [len(row) for row in before] == [len(row) for row in after]
    changed = [(a, b) for old, new in zip(before, after) for a, b in zip(old, new) if a != b]
    assert sorted(a for a, _ in changed) == ["", "NA", "nan"]
    assert all(b.endswith(".1") for _, b in changed)


@pytest.mark.parametrize("separator", [";", "\t", " ", ","])
def test_decimal_commas_come_back(tmp_path, separator):
    """Observed values keep their comma and imputed ones get one; 1,234 is not a thousand next to 2,5."""
    cells = [["279,250", "NA", "1e1"], ["280", "-0,5", "nan"], ["1,5e-1", "1,234", "8"], ["1", "2", "3"]]
    quote = '"{}"'.format if separator == "," else str
    lines = [["time", *IDS], *([time.replace(" ", "T"), *map(quote, row)] for time, row in zip(TIMES, cells))]
    source, out = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_text("\n".join(map(separator.join, lines)) + "\n")
    values = read_table(source, 3).values
    np.testing.assert_array_equal(values, [[279.25, 280, 0.15, 1], [np.nan, -0.5, 1.234, 2], [10, np.nan, 8, 3]])
    got, _ = completed(source, out)
    assert got.replace('"', "") == source.read_text().replace('"', "").replace("NA", "4,1").replace("nan", "9,1")
    np.testing.assert_allclose(read_table(out, 3).values[[1, 2], [0, 1]], [4.1, 9.1], rtol=1e-6)


def test_the_values_are_at_their_places(tmp_path):
    source, out = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_text(text())
    completed(source, out)
    again = read_table(out, 3)
    np.testing.assert_allclose(again.values, [[279.25, 280, 2.1, 10], [4.1, -0.5, 7, 2], [10, 9.1, 8, 3]], rtol=1e-6)
    assert again.ids.tolist() == IDS and len(again.times) == 4


def test_numbers_are_short_and_have_no_exponent(tmp_path):
    source, out = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_text("a,b,c\n1,,3\n,5,6\n")
    filled = np.array([[1, 1e-7], [np.float32(63.35), 5], [3, 6]], np.float32)
    write_completed(out, source, filled, np.array([[True, False], [False, True], [True, True]]))
    assert out.read_text() == "a,b,c\n1,63.35,3\n0.0000001,5,6\n"


@pytest.mark.parametrize("of_text", [True, False])
def test_parquet(tmp_path, of_text):
    frame = pandas.read_csv(io.StringIO(text()), index_col=0)
    source, out = tmp_path / ("in.csv" if of_text else "in.parquet"), tmp_path / "out.parquet"
    source.write_text(text()) if of_text else frame.to_parquet(source)
    found = read_table(source, 3)
    write_completed(out, source, np.nan_to_num(found.values, nan=5.5), ~np.isnan(found.values), found.ids)
    got = pandas.read_parquet(out)
    assert got.columns.tolist() == ["time", *IDS] and got["time"].tolist() == TIMES
    np.testing.assert_array_equal(got[IDS].to_numpy(), frame.fillna(5.5).to_numpy())


def test_parquet_of_a_text_has_integers_and_booleans(tmp_path):
    (tmp_path / "in.csv").write_text("time,a,b,c\n2014-01-01,1,true,1\n2014-01-02,,,1.5\n2014-01-03,3,false,2\n")
    filled = np.array([[1, 2, 3], [1, 0, 0], [1, 1.5, 2]])
    observed = np.array([[True, False, True], [True, False, True], [True] * 3])
    write_completed(tmp_path / "out.parquet", tmp_path / "in.csv", filled, observed, alone=True)
    got = pandas.read_parquet(tmp_path / "out.parquet")
    assert [str(got[name].dtype) for name in "abc"] == ["int64", "bool", "float64"]
    np.testing.assert_array_equal(got[["a", "b", "c"]].to_numpy(float), filled.T)


def test_parquet_keeps_what_was_observed_in_its_own_precision(tmp_path):
    frame = pandas.DataFrame({name: [279.1, None, 0.1] for name in IDS})
    frame.to_parquet(tmp_path / "in.parquet")
    filled = np.full((3, 3), 5.5, np.float32)
    observed = np.array([[True, False, True]] * 3)
    for name in ("out.parquet", "out.csv"):
        write_completed(tmp_path / name, tmp_path / "in.parquet", filled, observed, layout="columns")
    np.testing.assert_array_equal(pandas.read_parquet(tmp_path / "out.parquet"), frame.fillna(5.5))
    assert (tmp_path / "out.csv").read_text() == "s01,s02,s03\n279.1,279.1,279.1\n5.5,5.5,5.5\n0.1,0.1,0.1\n"


def test_labels_that_the_form_cannot_hold(tmp_path):
    whole = np.ones((3, 2)), np.ones((3, 2), bool)
    for label in ("#1", "% a", "a #b"):  # comments, were they not quoted
        pandas.DataFrame({"time": [label, "b"], **{name: [1.0, 2.0] for name in IDS}}).to_parquet(
            tmp_path / "in.parquet"
        )
        write_completed(tmp_path / "out.csv", tmp_path / "in.parquet", *whole)
        assert pandas.read_csv(tmp_path / "out.csv")["time"].tolist() == [label, "b"]
    (tmp_path / "out.csv").unlink()
    (tmp_path / "in.csv").write_text("time,s1,s2,s1\nx,1,2,3\ny,1,2,3\n")
    with pytest.raises(DataError, match="'s1' comes twice"):
        write_completed(tmp_path / "out.parquet", tmp_path / "in.csv", *whole)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.csv", "in.parquet"]


def test_a_row_without_a_label_is_written_as_it_was_read(tmp_path):
    source, out, labels = tmp_path / "in.csv", tmp_path / "out.csv", ["s1", "s2"]
    source.write_text(",2020-01-01,2020-01-02,2020-01-0x\ns1,1,2,3\ns2,4,,6\n,7,8,9\n")
    found = read_table(source, 2, labels)
    filled = np.nan_to_num(found.values, nan=5)
    write_completed(out, source, filled, ~np.isnan(found.values), found.ids)
    assert out.read_text() == source.read_text().replace(",,", ",5,")


def test_a_source_that_is_gone(tmp_path):
    with pytest.raises(DataError, match="does not exist"):
        write_completed(tmp_path / "out.csv", tmp_path / "in.csv", np.zeros((3, 4)), np.ones((3, 4), bool))
    assert not (tmp_path / "out.csv").exists()


def test_what_a_table_is():
    assert [is_table(name) for name in ("a.csv", "a.TSV", "a.npz", "a.parquet", "a")] == [
        True,
        True,
        False,
        True,
        False,
    ]
