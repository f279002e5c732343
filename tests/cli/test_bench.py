"""gpukit bench: messages of benchmarks that measure nothing; items of papers by name."""

import csv

import pytest

from gpukit.bench import NAMES, measurement
from gpukit.bench.measurement import Row
from gpukit.cli import bench

ROW = Row("sorting", "random", "generated", [1.0, 2.0, 3.0], "ms", "a note")


@pytest.fixture
def measuring(monkeypatch, verb):
    """Return run(names, *words): bench where only these benchmarks have rows."""

    def run(measured, *words):
        monkeypatch.delenv("GPUKIT_DATA", raising=False)
        monkeypatch.setattr(bench, "find", lambda name: lambda conditions: [ROW] if name in measured else [])
        return verb("bench", "--device", "cpu", *words)

    return run


def test_each_benchmark_that_measures_nothing_reports_why(measuring):
    result = measuring({"sort"} if "sort" in NAMES else {NAMES[0]})
    assert result.code == 0 and len(result.out.splitlines()) == 1
    lines = result.err.splitlines()
    assert len(lines) == len(NAMES) - 1 and all("measured nothing: it needs a GPU" in line for line in lines)


def test_a_run_that_measures_nothing_at_all_fails(measuring):
    result = measuring(set())
    assert result.code == 2 and not result.out
    assert result.err.splitlines()[-1].startswith(f"Error: no benchmark of {len(NAMES)} measured anything: it")


def test_a_named_benchmark_that_measures_nothing_fails_after_the_others(measuring):
    result = measuring({NAMES[0]}, NAMES[0], NAMES[1], "--shape", "netflix")
    assert result.code == 2 and len(result.out.splitlines()) == 1
    assert result.err.startswith(f"Error: bench {NAMES[1]} measured nothing: it has no shape netflix")


def test_benchmarks_without_their_data_are_skipped_unless_named(verb, monkeypatch):
    monkeypatch.delenv("GPUKIT_DATA", raising=False)
    find = {"accuracy": bench.find("accuracy")}  # needs MovieLens 1M
    monkeypatch.setattr(bench, "find", lambda name: find.get(name, lambda conditions: [ROW]))
    result = verb("bench", "--device", "cpu")
    assert result.code == 0 and len(result.out.splitlines()) == len(NAMES) - 1
    assert result.err.startswith("bench accuracy measured nothing: it needs a GPU")
    result = verb("bench", "accuracy", "--device", "cpu")
    assert result.code == 2 and "ml-1m/ratings.dat is needed: set GPUKIT_DATA" in result.err


@pytest.mark.slow
def test_the_command_writes_a_table_and_a_picture(verb, tmp_path, monkeypatch):
    monkeypatch.delenv("GPUKIT_DATA", raising=False)
    table, picture, record = tmp_path / "t.csv", tmp_path / "p.png", tmp_path / "rows.csv"
    words = "--shape", "mq2008", "--scale", 0.01, "--device", "cpu", "--output", table, "--plot", picture
    words += "--rows", record
    result = verb("bench", "reproduce", "ranksvm", "Table 1", "fig1", *words)
    assert result.code == 0 and "paper 52325, ours" in result.out and "Fig. 1 DCM" in result.out
    with open(table, newline="") as file:
        rows = list(csv.DictReader(file))
    assert [one["item"] for one in rows] == ["table1"] * 6 + ["fig1"] * 4 and rows[0]["paper"] == "9630.0"
    kept = list(csv.DictReader(record.read_text().splitlines()))
    assert [one["what"] for one in kept] == [f"RankSVM, {one['what']}" for one in rows]
    assert tuple(kept[0]) == measurement.COLUMNS and kept[0]["device"].startswith("cpu (")
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_unknown_items_are_refused(verb):
    result = verb("bench", "reproduce", "ranksvm", "fig6")
    assert result.code == 2 and "no 'fig6' to reproduce. Choose from table1, table2" in result.err


@pytest.mark.parametrize(
    "words, message",
    [
        (("ranksvm", "--shape", "netflix"), "ranksvm has no generated shape 'netflix'. Choose from mq2008, mq2007"),
        (("imputation", "--shape", "ml-10m"), "imputation has no generated shape 'ml-10m'. Leave --shape out."),
        (("ranksvm", "--rows", "nowhere/rows.csv"), "nowhere/rows.csv: the folder"),
        ((), "Choose from: lsh-mf, imputation, ranksvm"),
    ],
)
def test_wrong_requests_are_refused_before_anything_is_measured(verb, monkeypatch, words, message):
    monkeypatch.setattr(bench.papers, "reproduce", lambda *arguments: pytest.fail("measured"))
    result = verb("bench", "reproduce", *words)
    assert result.code == 2 and message in result.err and len(result.err.splitlines()) == 1


def test_all_items_of_a_paper_without_those_whose_data_are_missing(verb, monkeypatch, tmp_path):
    def reproduce(paper, items, conditions):
        if items == ["table10"]:
            raise measurement.MissingDataError("ncf is needed")
        yield bench.papers.Reproduction(items[0], ROW, None, 2.0)

    monkeypatch.setattr(bench.papers, "reproduce", reproduce)
    result = verb("bench", "reproduce", "lsh-mf", "--device", "cpu", "--output", tmp_path / "t.csv")
    assert result.code == 0 and "lsh-mf table10 measured nothing: ncf is needed" in result.err
    assert len((tmp_path / "t.csv").read_text().splitlines()) == len(bench.papers.PAPERS["lsh-mf"])
    assert verb("bench", "reproduce", "lsh-mf", "table10", "--device", "cpu").code == 2
