"""`gpukit convert`: reads, writes, reports."""

import json

import numpy as np
import pytest

from gpukit.cli.main import run
from gpukit.datasets import read_ratings


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "in.csv"
    path.write_text("movieId,userId,rating\n7,anna,3\n9,bob,0\n7,anna,4.5\n")
    return path


@pytest.mark.parametrize("suffix", ["gkr", "npz", "csv"])
def test_convert(source, tmp_path, capsys, suffix):
    out = tmp_path / f"out.{suffix}"
    assert run(["convert", str(source), str(out)]) == 0
    printed = capsys.readouterr().out
    assert "2 ratings, 2 users, 2 items, 0 to 4.5" in printed and "reading" in printed and "ratings a second" in printed
    first, second = read_ratings(source), read_ratings(out)
    assert np.array_equal(first.values, second.values)
    assert first.user_ids.tolist() == second.user_ids.tolist() == ["anna", "bob"]


def test_json_and_options(source, tmp_path, capsys):
    source.write_text("3;anna;7\n4;anna;7\n")
    arguments = ["convert", str(source), str(tmp_path / "o.gkr"), "--columns", "rating,user,item", "--sep", ";",
                 "--duplicates", "mean"]
    assert run([*arguments, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["ratings"] == 1 and facts["lowest"] == 3.5 and facts["bytes"] == (tmp_path / "o.gkr").stat().st_size
    assert run([*arguments, "--quiet"]) == 0
    assert capsys.readouterr().out == ""


def test_errors_are_one_line(source, tmp_path, capsys):
    for arguments, message in ((["none.csv", "o.gkr"], "does not exist"), ([str(source), "o.xls"], "must end in"),
                               ([str(source), str(tmp_path / "no" / "o.gkr")], "does not exist"),
                               ([str(source), str(tmp_path / "o.gkr"), "--duplicates", "error"], "anna has rated")):
        assert run(["convert", *arguments]) == 2
        error = capsys.readouterr().err
        assert error.startswith("Error: ") and message in error and error.count("\n") == 1
    assert not (tmp_path / "o.gkr").exists()
