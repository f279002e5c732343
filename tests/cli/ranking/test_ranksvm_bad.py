"""Errors of `gpukit ranksvm`: one line, exit code 2, nothing written."""

import os
import shutil

import pytest
from cli_support import CPU

GOOD = "2 qid:1 1:0.5 2:1\n1 qid:1 1:0.2 2:3\n0 qid:2 1:1 2:0\n1 qid:2 1:3 2:1\n"


@pytest.fixture
def file(tmp_path):
    """Return file("text") -> a file with this text."""

    def write(text, name="train.txt"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


@pytest.fixture
def untouched(refused, tmp_path):
    """Return untouched(PATH, ...) -> the one line of the error; no file has appeared."""

    def check(path, *options, scores=False):
        before = sorted(os.walk(tmp_path))
        outputs = ("--model", tmp_path / "m.gpukit", *(("--scores", tmp_path / "s") if scores else ()))
        line = refused("ranksvm", path, *CPU, "--quiet", *outputs, *options)
        assert sorted(os.walk(tmp_path)) == before
        return line

    return check


BAD_LINES = [
    ("", "is empty"),
    ("\n# nothing\n", "no documents"),
    ("1 1:2\n0 1:3\n", "line 1: no query id"),
    (GOOD + "1 1:2 2:3\n", "line 5: no query id"),
    (GOOD + "1 qid:1 1:2 2:3\n", "line 5: query 1 comes back"),
    (GOOD + "1 qid:2 0:2 1:3\n", "line 5: a feature has index 0: '0:2', but features are counted from 1. Add 1"),
    (GOOD + "1 qid:2 2:2 1:3\n", "line 5: the features' indices do not ascend"),
    (GOOD + "1 qid:2 1:2 2:NULL\n", "line 5: a value is NULL: '2:NULL'. Choose what it stands for: --null min"),
    (GOOD + "1 qid:2 1:2 2:nan\n", "line 5: the value of feature 2"),
    (GOOD + "nan qid:2 1:2 2:3\n", "line 5: the relevance"),
    ("1 qid:1 1:0.5\n1 qid:1 1:0.2\n0 qid:2 1:1\n", "no pairs to learn from"),
]


@pytest.mark.parametrize("text, words", BAD_LINES)
def test_training_files(untouched, file, text, words):
    assert words in untouched(file(text))


@pytest.mark.parametrize("part", ["--validation", "--test"])
@pytest.mark.parametrize(
    "text, words",
    [
        *(case for case in BAD_LINES if "pairs" not in case[1]),
        (GOOD + "1 qid:2 1:2 3:3\n", "has 3 features where 2 are expected, those of the training set"),
    ],
)
def test_other_parts(untouched, file, part, text, words, monkeypatch):
    monkeypatch.setattr("gpukit.cli.ranking.steps.fit", lambda *_: pytest.fail("training had begun"))
    line = untouched(file(GOOD), part, file(text, "other.txt"))
    assert words in line and "other.txt" in line


def test_folders(untouched, letor_folder, tmp_path):
    (tmp_path / "empty").mkdir()
    assert "holds no folds" in untouched(tmp_path / "empty")
    shutil.copytree(letor_folder, tmp_path / "L")
    (tmp_path / "L/Fold2/vali.txt").unlink()
    for path in (tmp_path / "L", tmp_path / "L/Fold2"):
        assert "Fold2 has no vali.txt" in untouched(path)
    assert "does not exist" in untouched(tmp_path / "none")


def test_folds_that_are_not_there(untouched, letor_folder, file):
    assert "--fold 7" in untouched(letor_folder, "--fold", 7) and "it has 1, 2" in untouched(letor_folder, "--fold", 7)
    assert "--fold 2" in untouched(letor_folder / "Fold1", "--fold", 2)
    assert "goes with a LETOR folder" in untouched(file(GOOD), "--fold", 1)


@pytest.mark.parametrize(
    "options, words",
    [
        (("--c", "0"), "--c 0"),
        (("--c", "-1"), "above 0"),
        (("--c", "nan"), "above 0"),
        (("--c", "two"), "--c two"),
        (("--c", "1,2"), "one number"),
        (("--c-grid", "2^8:2^-15"), "does not rise"),
        (("--c-grid", "1,0"), "above 0"),
        (("--c-grid", "1:2:3:4"), "2^-15:2^8"),
        (("--c-grid", "1:x"), "above 0"),
        (("--c-grid", ""), "--c-grid is empty"),
        (("--c", 1, "--c-grid", "1,2"), "exclude each other"),
        (("--metric", "map", "--c", 1), "--c 1 names it"),
        (("--scale", "auto", "--c", 1), "--c 1.0 is for C alone"),
        (("--features", "auto", "--c", "2^-3"), "--c 0.125 is for C alone"),
        (("--features", "auto", "--c-grid", "1,2"), "--c-grid 1,2 is for C alone"),
        (("--metric", "auc"), "--metric"),
        (("--eps", 0), "eps"),
        (("--eps", "nan"), "eps"),
        (("--solver", "sgd"), "--solver"),
        (("--relevant", "nan"), "relevant"),
        (("--device", "tpu"), "tpu"),
        (("--null", "mean"), "--null"),
        (("--scale", "max"), "--scale"),
        (("--test", "t.txt"), "is for a training file"),
        (("--validation", "v.txt"), "is for a training file"),
        (("--scores", "no/such/s"), "does not exist"),
        (("--plot", "no/such/p.png"), "does not exist"),
        (("--plot", "p.doc"), ".png"),
        (("--scores", "{fold}", "--plot", "Fold1"), "Name another file"),
    ],
)
def test_options_that_cannot_work(untouched, letor_folder, tmp_path, monkeypatch, options, words):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("gpukit.cli.ranking.steps.read_letor", lambda *_, **__: pytest.fail("the work had begun"))
    assert words in untouched(letor_folder, *options)


def test_a_bare_file_lacks_what_some_options_need(untouched, file):
    assert "--validation FILE" in untouched(file(GOOD), "--c-grid", "1,2")
    assert "--test FILE" in untouched(file(GOOD), scores=True)


def test_a_validation_set_that_says_nothing(untouched, file):
    flat = file("1 qid:1 1:0.5 2:1\n1 qid:1 1:0.2 2:3\n", "flat.txt")
    assert "pa" in untouched(file(GOOD), "--validation", flat, "--c-grid", "1,2")


def test_what_is_read_is_not_overwritten(refused, letor_folder):
    test = letor_folder / "Fold2/test.txt"
    before = test.read_bytes()
    for option in ("--model", "--scores"):
        path = str(test).replace("Fold2", "{fold}")
        assert "overwrite" in refused("ranksvm", letor_folder, option, path, *CPU)
    assert test.read_bytes() == before


def test_two_outputs_in_one_file(refused, letor_folder, tmp_path):
    both = ("--model", tmp_path / "x", "--scores", tmp_path / "x")
    assert "Name another file" in refused("ranksvm", letor_folder, *both, *CPU)
