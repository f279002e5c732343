"""Commands in a pipeline: - is standard input or standard output.

Messages go to stderr.
"""

import os
import subprocess
import sys
import threading

import pytest

from gpukit.ratings import read_ratings

ROWS = "".join(f"{row % 97},{row % 89},{row % 5 + 1}\n" for row in range(60_000))


@pytest.fixture
def given():
    """Return given(text), which sends text to standard input through a pipe.

    The writer is joined at the end of the test.
    """
    before, threads = os.dup(0), []

    def feed(text):
        end, other = os.pipe()
        os.dup2(end, 0)
        os.close(end)
        threads.append(threading.Thread(target=_write, args=(other, text.encode()), daemon=True))
        threads[-1].start()

    yield feed
    os.dup2(before, 0)
    os.close(before)
    for thread in threads:
        thread.join(20)
        assert not thread.is_alive()


def _write(end, raw):
    with open(end, "wb") as file:
        file.write(raw)


def test_convert(verb, given, tmp_path):
    given(ROWS)
    result = verb("convert", "-", tmp_path / "a.gkr")
    (tmp_path / "a.csv").write_text(ROWS)
    expected = read_ratings(tmp_path / "a.csv")
    assert result.code == 0 and f"{len(expected):,} ratings" in result.out and len(expected) == 97 * 89
    given(ROWS)
    result = verb("convert", "-", "-")
    (tmp_path / "b.csv").write_text(result.out)
    for found in (read_ratings(tmp_path / "a.gkr"), read_ratings(tmp_path / "b.csv")):
        assert found.shape == expected.shape and (found.values == expected.values).all()
        assert (found.users == expected.users).all() and (found.items == expected.items).all()
    assert result.code == 0 and "8,633 ratings" in result.err and "Seconds" in result.err


@pytest.mark.slow
def test_convert_in_a_shell(tmp_path):
    """60,000 rows through cat, process substitution and a FIFO, without loss."""
    (tmp_path / "in.csv").write_text(ROWS)
    line = (
        '"$0" -P -m gpukit convert in.csv whole.csv -q; mkfifo pipe; '
        'cat in.csv | "$0" -P -m gpukit convert /dev/stdin piped.csv -q; cat in.csv > pipe & '
        '"$0" -P -m gpukit convert pipe fifo.csv -q; '
        '"$0" -P -m gpukit convert <(gzip < in.csv) >(cat > substituted.csv) -q; '
        '{ echo first; "$0" -P -m gpukit convert - -; } < in.csv > redirected.csv; wait'
    )
    done = subprocess.run(
        ["bash", "-c", line, sys.executable], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    whole = (tmp_path / "whole.csv").read_text()
    assert done.returncode == 0 and done.stdout == "" and len(whole.splitlines()) == 8634, done
    for name in ("piped.csv", "fifo.csv", "substituted.csv"):
        assert (tmp_path / name).read_text() == whole, name
    assert (tmp_path / "redirected.csv").read_text() == "first\n" + whole


def test_predict(verb, given, model_file, tmp_path):
    pairs = "100,a01\n101,a02\nnobody,a03\n"
    (tmp_path / "pairs.csv").write_text(pairs)
    expected = verb("predict", model_file, tmp_path / "pairs.csv", "--device", "cpu").out
    for output in ("-", "/dev/stdout"):
        given(pairs)
        result = verb("predict", model_file, "-", "--output", output, "--device", "cpu")
        assert result.code == 0 and result.out == expected and result.err.count("\n") == 2


def test_recommend(verb, model_file):
    some = ("recommend", model_file, "--user", 100, "-n", 3, "--device", "cpu")
    result = verb(*some, "--output", "-")
    assert result.code == 0 and result.out.splitlines()[0] == "user,rank,item,score" and result.out.count("\n") == 4
    assert "--json" in verb(*some, "--output", "-", "--json").err


def test_rank(verb, refused, given, letor_folder, ranking_model):
    file = letor_folder / "Fold1" / "test.txt"
    expected = verb("rank", ranking_model, file).out
    given(file.read_text())
    result = verb("rank", ranking_model, "-", "--output", "-", "--metrics")
    assert result.code == 0 and result.out == expected and "NDCG" in result.err and " in -" not in result.err
    assert "--json" in refused("rank", ranking_model, file, "--output", "-", "--json")


@pytest.mark.slow
def test_ranksvm(verb, refused, letor_folder, tmp_path):
    verb("ranksvm", letor_folder, "--scores", tmp_path / "{fold}.txt", "--device", "cpu")
    expected = "".join((tmp_path / f"Fold{fold}.txt").read_text() for fold in (1, 2))
    result = verb("ranksvm", letor_folder, "--scores", "-", "--device", "cpu")
    assert result.code == 0 and result.out == expected and "NDCG@1" in result.err
    assert "--json" in refused("ranksvm", letor_folder, "--scores", "-", "--json")


def test_synth(verb, tmp_path):
    for kind, suffix in (("ratings", ".csv"), ("letor", ".txt")):
        small = (
            ("--like", "mq2008", "--scale", 0.03)
            if kind == "letor"
            else ("--users", 30, "--items", 20, "--ratings", 200)
        )
        assert verb("synth", kind, tmp_path / f"a{suffix}", *small).code == 0
        result = verb("synth", kind, "-", *small)
        assert result.code == 0 and result.out == (tmp_path / f"a{suffix}").read_text() and "Seconds" in result.err
        assert not (tmp_path / "-").exists()


def test_what_is_no_text(refused, ratings_file, letor_folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "./-" in refused("train-lshmf", ratings_file, "--model", "-")
    assert "./-" in refused("ranksvm", letor_folder, "--model", "-")
    assert ".npz" in refused("synth", "graph", "-o", "-") and not list(tmp_path.iterdir())


def test_standard_input_that_is_used_up(refused, given, ratings_file):
    given("")
    assert "standard input is empty (it can be read only once)" in refused("convert", "-", "-")


def test_a_warning_is_one_line():
    """In the command's process, without a line of code; warnings outside commands are Python's."""
    code = "import warnings; from gpukit.cli.main import run_alone; run_alone(['--version']); "
    code += "warnings.warn('slower\\nby far'); warnings.warn('overflow', RuntimeWarning)"
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, timeout=60)
    first, *others = done.stderr.splitlines()
    assert first == "Warning: slower by far" and "RuntimeWarning: overflow" in others[0] and done.returncode == 0
