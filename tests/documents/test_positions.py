"""Weights of clicks by position: their formula, where positions are read, and positions that are refused."""

import numpy as np
import pytest

from gpukit.documents import position_weights, read_letor, write_letor
from gpukit.errors import DataError, ParameterError

ROWS = "qid,label,f,position\n1,1,0.5,4\n1,0,0.1,9\n2,0,0.2,1\n2,2,0.3,9\n"
WEIGHTS = [2, 1, 1, 3]  # 4^.5, 9^.5 where there is a click


def test_a_click_counts_with_the_inverse_of_its_propensity():
    y, position = [0, 1, 3, 0, 1], [1, 2, 8, 8, 1]
    np.testing.assert_allclose(position_weights(y, position, 2 / 3), [1, 2 ** (2 / 3), 4, 1, 1], rtol=1e-15)
    assert position_weights(y, position).tolist() == [1, 2, 8, 1, 1]
    assert position_weights(y, position, 0).tolist() == [1] * 5


@pytest.mark.parametrize(
    "position, why",
    [
        ([1, 0, 3], r"position\[1\] is 0. Positions count from 1"),
        ([1, 2, -3], r"position\[2\] is -3"),
        ([np.nan, 2, 3], r"position\[0\] is nan"),
        ([1, np.inf, 3], r"position\[1\] is inf"),
        ([1, 2], "There are 2 positions and 3 documents"),
        (["a", "b", "c"], "position must be numbers"),
    ],
)
def test_wrong_positions(position, why):
    with pytest.raises(DataError, match=why):
        position_weights([1, 0, 1], position)


def test_wrong_strength():
    with pytest.raises(DataError, match="position.400 must be finite"):
        position_weights([1], [10], 400)
    for eta in (-1, np.nan, "strong"):
        with pytest.raises(ParameterError, match="eta must be a finite number, at least 0"):
            position_weights([1], [10], eta)
        with pytest.raises(ParameterError, match="position_bias must be a finite number, at least 0"):
            read_letor("no such file", position_bias=eta)


@pytest.fixture
def table(tmp_path):
    (tmp_path / "a.csv").write_text(ROWS)
    return tmp_path / "a.csv"


def test_a_column_of_positions_is_no_feature(table):
    for name in ("position", "Position", " POSITION"):
        table.write_text(ROWS.replace("position", name))
        clicks = read_letor(table, position_bias=0.5)
        assert clicks.weights.tolist() == WEIGHTS and clicks.names.tolist() == ["f"]
        assert clicks.X.tolist() == [[0.5], [0.1], [0.2], [0.3]]
        assert read_letor(table).names.tolist() == ["f", name.strip()] and read_letor(table).weights is None


@pytest.mark.parametrize("suffix", [".parquet", ".gkl"])
def test_positions_of_other_tables(table, tmp_path, suffix):
    write_letor(read_letor(table), tmp_path / f"b{suffix}")
    clicks = read_letor(tmp_path / f"b{suffix}", position_bias=0.5)
    assert clicks.weights.tolist() == WEIGHTS and clicks.names.tolist() == ["f"]


def test_a_file_of_positions(tmp_path):
    (tmp_path / "a.txt").write_text("1 qid:1 1:5\n0 qid:1 1:1\n0 qid:2 1:2\n2 qid:2 1:3\n")
    (tmp_path / "a.txt.position").write_text("4\n9\n1\n9\n")
    assert read_letor(tmp_path / "a.txt", position_bias=0.5).weights.tolist() == WEIGHTS
    assert read_letor(tmp_path / "a.txt").weights is None
    for text, why in (
        ("4\n9\n1\n", "a.txt.position: There are 3 positions and 4 documents"),
        ("4\n9\nx\n9\n", "a.txt.position, line 3: 'x' is not a position"),
        ("4\n9\n0\n9\n", r"a.txt.position: position\[2\] is 0"),
    ):
        (tmp_path / "a.txt.position").write_text(text)
        with pytest.raises(DataError, match=why):
            read_letor(tmp_path / "a.txt", position_bias=0.5)


def test_positions_that_are_missing_or_next_to_weights(table, tmp_path):
    (tmp_path / "a.txt").write_text("1 qid:1 1:5\n0 qid:1 1:1\n")
    with pytest.raises(DataError, match=r"a.txt has no positions .* column 'position', or a file .*a.txt.position"):
        read_letor(tmp_path / "a.txt", position_bias=1)
    table.write_text("qid,label,weight,f,position\n1,1,2,0.5,4\n1,0,2,0.1,9\n")
    with pytest.raises(DataError, match="a.csv has positions and weights"):
        read_letor(table, position_bias=1)


def test_a_model_without_positions_scores_a_table_with_them(table):
    clicks = read_letor(table, names=["f"])
    assert clicks.names.tolist() == ["f"] and clicks.X.shape == (4, 1)
    assert read_letor(table, names=["position", "f"]).X[:, 0].tolist() == [4, 9, 1, 9]
    with pytest.raises(DataError, match="missing: 'g'"):
        read_letor(table, names=["g"])
