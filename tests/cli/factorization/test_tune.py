"""`gpukit tune`: the table, the command, the test and errors."""

import json
import os
import shlex
import signal

import pytest
from cli_support import CPU, planted, write_rows

GRID = ("--grid", "factors=2,4 neighbors=0,5", "--grid", "regularization=0.05", "--cv", 2, "--epochs", 3, *CPU)


def as_json(verb, *arguments):
    result = verb("tune", *arguments, "--json", *GRID)
    assert result.code == 0 and result.err == "", result
    return json.loads(result.out)


def test_the_table_and_the_command_that_trains_the_winner(verb, ratings_file, tmp_path):
    result = verb("tune", ratings_file, "--seed", 5, *GRID)
    assert result.code == 0, result
    lines = result.out.splitlines()
    assert lines[0] == f"4 settings, 2 fold(s) of {len(planted()[2]):,} ratings; RMSE on what was held out"
    assert lines[1].split() == ["factors", "neighbors", "regularization", "epochs", "RMSE", "+-", "folds"]
    assert lines[2].endswith("best") and len([line for line in lines[2:6] if line.split()[2] == "0.0500"]) == 4
    assert "User and item means alone: RMSE" in result.err and "Seconds: start" in result.out
    words = shlex.split(next(line for line in lines if line.startswith("Best:")))[1:]
    assert words[:3] == ["gpukit", "train-lshmf", str(ratings_file)] and words[words.index("--seed") + 1] == "5"
    model = tmp_path / "my.gpukit"
    words[words.index("my.gpukit")] = str(model)
    trained = json.loads(verb(*words[1:], "--json").out)
    row = dict(zip(lines[1].split(), lines[2].split(), strict=False))
    assert str(trained["parameters"]["n_factors"]) == row["factors"] and str(trained["epochs"]) == row["epochs"]
    assert trained["parameters"]["regularization"] == 0.05 and model.exists()


def test_json_has_all_settings_and_the_choice(verb, ratings_file):
    result = as_json(verb, ratings_file)
    best = result["results"][0]
    assert len(result["results"]) == 4 and (best["folds"], result["folds"]) == (2, 2)
    assert {name: best[name] for name in result["best"]} == result["best"]
    assert best["rmse"] == min(row["rmse"] for row in result["results"]) and best["spread"] > 0
    assert result["means"]["rmse"] > 0 and set(result["seconds"]) >= {"tuning", "reading"}
    assert result["train"].startswith("gpukit train-lshmf") and (result["untried"], result["stopped"]) == (0, False)


def test_the_winner_is_saved(verb, ratings_file, tmp_path):
    from gpukit import LSHMF, MatrixFactorization

    model = tmp_path / "m"
    found = as_json(verb, ratings_file, "--model", model)
    kind = LSHMF if found["best"]["n_neighbors"] else MatrixFactorization
    assert kind.load(model)._history.items.size == len(planted()[2])
    assert verb("recommend", model, "--user", 100, *CPU).code == 0


def test_means_that_nothing_beats_are_told(verb, ratings_file, monkeypatch):
    monkeypatch.setattr("gpukit.factorization.tuning.Fold.means_rmse", lambda fold: 0.1)
    result = verb("tune", ratings_file, *GRID)
    assert "means alone: RMSE 0.1000, which no setting beats: the ratings hold too little information." in result.err


def test_the_learning_rate_has_a_column_where_it_is_tried(verb, ratings_file):
    result = verb("tune", ratings_file, "--grid", "learning-rate=0.1", *GRID)
    assert "learning rate" in result.out.splitlines()[1] and "--learning-rate 0.1" in result.out


def test_no_setting_that_can_be_trained(refused, ratings_file):
    line = refused("tune", ratings_file, "--grid", "learning-rate=1e6 neighbors=0", "--cv", 2, "--quiet", *CPU, code=1)
    assert "Every setting that was tried diverged. Try smaller values of learning_rate" in line


def test_the_budget_is_told(verb, ratings_file):
    result = verb("tune", ratings_file, "--budget", 1e-6, *GRID)
    assert (
        "The budget of 1e-06 seconds ended the search; 3 settings were not tried. Give more with --budget."
        in result.err
    )
    unlimited = verb("tune", ratings_file, "--budget", 0, *GRID)
    assert unlimited.code == 0 and "budget" not in unlimited.err


@pytest.mark.parametrize("stage, done", [("fold 1 of 2", 0), ("fold 1 of 2", 2), ("fold 2 of 2", 1)])
def test_ctrl_c_says_what_was_found_so_far(verb, ratings_file, tmp_path, monkeypatch, stage, done):
    def press(self, now, at, total, info=None):
        if (now, at) == (stage, done):
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr("gpukit.cli.report.Progress.__call__", press)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    result = verb("tune", ratings_file, "--model", tmp_path / "m", "--quiet", *GRID)
    signal.signal(signal.SIGINT, before)
    assert result.code == 130 and result.out == "" and result.err.count("\n") == 1 and os.listdir(tmp_path) == []
    if done == 0:
        assert result.err == "Interrupted. Nothing had been tried yet.\n"
    else:
        tried, folds = (2, 1) if stage.startswith("fold 1") else (4, 2)
        assert f"{tried} settings were tried; the best so far, RMSE " in result.err
        assert f"on {folds} fold(s): gpukit train-lshmf" in result.err


@pytest.mark.parametrize(
    "options, words",
    [
        (("--grid", "factors"), "--grid factors: write NAME=VALUE,VALUE with factors, neighbors"),
        (("--grid", "factors=8 depth=3"), "--grid depth=3: write NAME=VALUE,VALUE"),
        (("--grid", ""), "--grid is empty"),
        (("--grid", "factors="), "--grid factors has no values"),
        (("--grid", "factors=8,many"), "--grid factors: 'many' is no number"),
        (("--grid", "factors=8", "--grid", "factors=9"), "--grid names factors twice"),
        (("--grid", "factors=0"), "--grid factors must be an integer, between 1 and 1024; got 0"),
        (("--grid", "neighbors=1.5"), "--grid neighbors must be an integer"),
        (("--grid", "regularization=-1"), "--grid regularization must be a finite number, at least 0.0; got -1"),
        (("--grid", "learning-rate=nan"), "--grid learning-rate must be a finite number"),
        (("--cv", 1), "--cv"),
        (("--cv", 256), "--cv"),
        (("--budget", -1), "--budget"),
        (("--test-fraction", 0.1), "(save the best by --model; evaluate tests it)"),
        (("--plot", "p.png"), "(--json has the curves)"),
    ],
)
def test_bad_options_are_refused_before_anything_is_read(refused, tmp_path, options, words):
    assert words in refused("tune", tmp_path / "none.csv", *options, *CPU)


def test_more_folds_than_ratings(refused, tmp_path):
    rows = write_rows(tmp_path / "few.csv", [(1, 2, 3), (1, 3, 4), (2, 2, 2)])
    line = refused("tune", rows, "--cv", 4, "--quiet", *CPU)
    assert "3 ratings cannot be dealt into 4 folds (cv): use 3 or fewer" in line


def test_a_fold_without_two_users(refused, tmp_path):
    rows = write_rows(tmp_path / "one.csv", [(1, 2, 3), (1, 3, 4), (1, 4, 2)])
    assert "from 1 user(s)" in refused("tune", rows, "--quiet", *CPU)
