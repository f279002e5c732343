"""`gpukit convert`: reads, writes, reports."""

import json

import numpy as np
import pytest

from gpukit.cli.main import run
from gpukit.documents import read_letor
from gpukit.ratings import read_ratings


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "in.csv"
    path.write_text("movieId,userId,rating\n7,anna,3\n9,bob,0\n7,anna,4.5\n")
    return path


@pytest.mark.parametrize("suffix", ["gkr", "npz", "parquet", "csv"])
def test_convert(source, tmp_path, capsys, suffix):
    out = tmp_path / f"out.{suffix}"
    assert run(["convert", str(source), str(out)]) == 0
    printed = capsys.readouterr().out
    assert "2 ratings, 2 users, 2 items, 0 to 4.5" in printed and "reading" in printed and "ratings a second" in printed
    assert "0.0 MB" not in printed and " kB." in printed and "0.00 million" not in printed
    first, second = read_ratings(source), read_ratings(out)
    assert np.array_equal(first.values, second.values)
    assert first.user_ids.tolist() == second.user_ids.tolist() == ["anna", "bob"]


def test_json_and_options(source, tmp_path, capsys):
    source.write_text("3;anna;7\n4;anna;7\n")
    arguments = [
        "convert",
        str(source),
        str(tmp_path / "o.gkr"),
        "--columns",
        "rating,user,item",
        "--sep",
        ";",
        "--duplicates",
        "mean",
    ]
    assert run([*arguments, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["ratings"] == 1 and facts["lowest"] == 3.5 and facts["bytes"] == (tmp_path / "o.gkr").stat().st_size
    assert run([*arguments, "--quiet", "--force"]) == 0
    assert capsys.readouterr().out == ""


def test_times_weights_and_counts_when_asked(source, tmp_path):
    source.write_text("anna,7,3,2005-09-06,0.5,2\nbob,9,4,1970-01-01,1,3\n")
    out = tmp_path / "o.gkr"
    assert (
        run(["convert", str(source), str(out), "--times", "--columns", "user,item,rating,date,weight,count", "-q"]) == 0
    )
    kept = read_ratings(out, times=True)
    assert (
        kept.times.tolist() == [1125964800, 0] and kept.weights.tolist() == [0.5, 1] and kept.counts.tolist() == [2, 3]
    )
    assert run(["convert", str(source), str(out), "-q", "--force"]) == 2  # six columns, and no names
    assert run(["convert", str(source), str(out), "-q", "--force", "--columns", "user,item,rating,-,-,-"]) == 0
    plain = read_ratings(out)
    assert plain.times is None and plain.weights is None and plain.counts is None


def test_documents_in_parquet(tmp_path):
    (tmp_path / "a.txt").write_text("2 qid:1 1:0.5 2:3\n0 qid:1 2:1\n1 qid:7 1:1 2:2\n")
    assert run(["convert", str(tmp_path / "a.txt"), str(tmp_path / "a.parquet"), "-q"]) == 0
    assert run(["convert", str(tmp_path / "a.parquet"), str(tmp_path / "b.gkl"), "-q"]) == 0
    first, second = read_letor(tmp_path / "a.txt"), read_letor(tmp_path / "b.gkl")
    assert np.array_equal(first.X, second.X) and first.qids.tolist() == second.qids.tolist() == [1, 7]


def test_errors_are_one_line(source, tmp_path, capsys):
    for arguments, message in (
        (["none.csv", "o.gkr"], "does not exist"),
        ([str(source), "o.xls"], "must end in"),
        ([str(source), str(tmp_path / "no" / "o.gkr")], "does not exist"),
        ([str(source), str(tmp_path / "o.gkr"), "--duplicates", "error"], "anna has rated"),
    ):
        assert run(["convert", *arguments]) == 2
        error = capsys.readouterr().err
        assert error.startswith("Error: ") and message in error and error.count("\n") == 1
    assert not (tmp_path / "o.gkr").exists()


LETOR = "2 qid:7 1:0.5 2:NULL #docid = A\n0 qid:7 1:1 2:3\n1 qid:8 1:2\n"


@pytest.mark.parametrize("suffix", ["gkl", "txt"])
def test_documents(tmp_path, capsys, suffix):
    source, out = tmp_path / "in.dat", tmp_path / f"out.{suffix}"
    source.write_text(LETOR)
    assert run(["convert", str(source), str(out), "--null", "min"]) == 0
    printed = capsys.readouterr().out
    assert "3 documents, 2 queries, 2 features, relevance 0 to 2" in printed and "documents a second" in printed
    documents = read_letor(out)
    assert documents.X.tolist() == [[0.5, 3], [1, 3], [2, 0]] and documents.comments[0] == "docid = A"
    assert run(["convert", str(source), str(out), "--null", "zero", "--json", "--force"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["documents"], facts["queries"], facts["features"], facts["longest_query"]) == (3, 2, 2, 2)
    assert facts["bytes"] == out.stat().st_size and facts["documents_per_second"] > 0


def test_options_of_the_other_kind_are_refused(refused, source, tmp_path):
    letor, out = tmp_path / "train.txt", tmp_path / "o.gkl"
    letor.write_text("2 qid:7 1:0.5\n0 qid:7 1:1\n")
    for option in (("--columns", "a,b"), ("--sep", ";"), ("--duplicates", "mean"), ("--format", "csv"), ("--times",)):
        assert f"{option[0]} is for ratings" in refused("convert", letor, out, *option)
    assert "--null is for documents" in refused("convert", source, tmp_path / "o.gkr", "--null", "min")
    assert not out.exists() and not (tmp_path / "o.gkr").exists()


def test_what_is_converted_to_what(source, tmp_path, capsys):
    letor = tmp_path / "train.txt"
    letor.write_text(LETOR)
    (tmp_path / "rank").write_text("1 1:2\n")
    (tmp_path / "rank.query").write_text("1\n")
    assert run(["convert", str(tmp_path / "rank"), str(tmp_path / "o.gkl"), "--quiet"]) == 0
    for arguments, message in (
        ([letor, "o.gkl"], "line 1: a value is NULL: '2:NULL'"),
        ([letor, "o.csv"], "in .gkl, .txt"),
        ([source, "o.gkl"], "line 1: no query id"),
        ([tmp_path / "rank", "o.gkr"], "in .gkl, .txt"),
        ([tmp_path, "o.gkl"], "is a folder"),
        ([tmp_path / "none", "o.gkl"], "does not exist"),
    ):
        assert run(["convert", str(arguments[0]), str(tmp_path / arguments[1]), "--force"]) == 2
        error = capsys.readouterr().err
        assert error.startswith("Error: ") and message in error and error.count("\n") == 1
    assert not (tmp_path / "o.csv").exists() and not (tmp_path / "o.gkr").exists()


@pytest.mark.parametrize("suffix", [".gkr", ".npz"])
@pytest.mark.parametrize("to", [".gkr", ".npz", ".parquet", ".csv"])
def test_copies_keep_times_weights_and_counts(verb, tmp_path, suffix, to):
    from gpukit.ratings import as_ratings, read_ratings, write_ratings

    if to == ".parquet":
        pytest.importorskip("pyarrow")
    made = as_ratings((["a b", " c", "7"], ["x", 'y""z', "\u2028"], [1.0, 2.0, 4.5]))
    columns = {"times": np.array([9, 5, 7]), "weights": np.array([0.5, 1, 2], np.float32), "counts": np.arange(3)}
    columns["counts"] = columns["counts"].astype(np.int32)
    made = made.with_columns(**made.columns(), **columns)
    write_ratings(made, tmp_path / f"one{suffix}")
    assert verb("convert", tmp_path / f"one{suffix}", tmp_path / f"two{to}").code == 0
    names = "user,item,rating,timestamp,weight,count" if to in (".csv", ".parquet") else None
    found = read_ratings(tmp_path / f"two{to}", columns=names, times=True)
    for name, column in made.columns().items():
        assert getattr(found, name).tolist() == column.tolist(), name
    assert found.user_ids.tolist() == made.user_ids.tolist() and found.item_ids.tolist() == made.item_ids.tolist()


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_columns_that_are_not_converted_are_named(verb, tmp_path, suffix):
    text = "user,item,rating,timestamp,weight\n1,2,3,9,0.5\n2,2,4,5,1\n"
    path = tmp_path / f"one{suffix}"
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
        import io

        pytest.importorskip("pandas").read_csv(io.StringIO(text)).to_parquet(path)
    else:
        path.write_text(text)
    line = f"{path}: not converted: timestamp, weight. --times keeps times"
    assert line in verb("convert", path, tmp_path / "two.gkr").err
    result = verb("convert", path, tmp_path / "two.gkr", "--force", "--json")
    assert json.loads(result.out)["reading"][0]["left_out"] == ["timestamp", "weight"] and line not in result.err
    assert "not converted: weight." in verb("convert", path, tmp_path / "two.gkr", "--force", "--times").err
    columns = "user,item,rating,timestamp,weight"
    result = verb("convert", path, tmp_path / "two.gkr", "--force", "--times", "--columns", columns)
    assert result.code == 0 and "not converted" not in result.err


def test_clicks_are_described_by_their_counts(verb, tmp_path):
    for rows, counted in (("u1,i1\nu2,i1\n", "once"), ("u1,i1\nu1,i1\nu2,i1\n", "1 to 2 times")):
        (tmp_path / "c.csv").write_text("user,item\n" + rows)
        result = verb("convert", tmp_path / "c.csv", tmp_path / "c.gkr", "--force")
        assert f"2 pairs without ratings (clicks), 2 users, 1 items, counted {counted};" in result.out, result
