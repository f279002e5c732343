"""Refit of the saved model on all ratings.

The errors are those of the model without the held-out ones.
"""

import csv
import json
import os
import signal

import numpy as np
import pytest
from cli_support import CPU, NAMED, planted, write_rows
from support import thinned

from gpukit import load_model, read_ratings
from gpukit.factorization import MatrixFactorization, run
from gpukit.runtime.thread_count import limit_threads

PLAIN = (*CPU, "--factors", 4, "--epochs", 3, "--no-neighbors", "--deterministic")
CLICKS = (*CPU, "--feedback", "implicit")
TRAININGS = {
    "neighbours": NAMED,
    "no neighbours": PLAIN,
    "chosen": CPU,
    "hogwild": (*CPU, "--solver", "hogwild", "--factors", 4),
    "als": (*CPU, "--solver", "als", "--factors", 4),
    "stopped early": (*PLAIN, "--early-stop", 2),
    "the last by user": (*PLAIN, "--split", "user-one"),
    "whole users": (*PLAIN, "--split", "users"),
    "with lists": (*PLAIN, "--lists"),
    "clicks": (*CLICKS, "--solver", "ials", "--factors", 4),
    "sampled clicks": (*CLICKS, "--solver", "sampled", "--factors", 4, "--epochs", 2),
    "chosen for clicks": CLICKS,
}
REFITS = ("with the same settings", "was not trained on")


def listed_again(verb, model, by):
    """Return the pairs of the planted file in the lists of all users."""
    assert (
        verb("recommend", model, "--all", "-n", 10, "--by", by, "--output", f"{model}.csv", "--force", *CPU).code == 0
    )
    with open(f"{model}.csv", newline="") as file:
        shown = {(int(row["user"]) - 100, int(row["item"][1:])) for row in csv.DictReader(file)}
    return shown & set(zip(*(column.tolist() for column in planted()[:2])))


@pytest.mark.parametrize("kept, name", thinned(["refit", "no refit"], TRAININGS, share=4))
def test_no_list_has_an_item_that_the_file_has_for_its_user(verb, ratings_file, tmp_path, kept, name):
    options, kept = TRAININGS[name], ("--no-refit",) * (kept == "no refit")
    result = verb("train-lshmf", ratings_file, "--model", tmp_path / "m", *options, *kept)
    assert result.code == 0 and REFITS[bool(kept)] in result.err and REFITS[not kept] not in result.err, result.err
    for by in ("lists", "rating"):
        assert not listed_again(verb, tmp_path / "m", by), by
    learned, held_out = load_model(tmp_path / "m").rating_counts()[0].sum(), len(planted()[0])
    assert (learned == held_out) == (not kept) and ("refit " in result.out) == (not kept)


def trained(verb, *arguments):
    result = verb("train-lshmf", *arguments, "--json", "--force")
    assert result.code == 0, result
    return json.loads(result.out)


@pytest.mark.slow
def test_the_report_is_of_the_model_before(verb, ratings_file, tmp_path):
    reported, kept, alone = (
        trained(verb, ratings_file, *PLAIN, *more)
        for more in (("--model", tmp_path / "m"), ("--model", tmp_path / "k", "--no-refit"), ())
    )
    assert reported["results"] == kept["results"] == alone["results"]
    assert reported["train_ratings"] + reported["test_ratings"] == reported["refit"]["ratings"] == len(planted()[0])
    assert reported["refit"]["seconds"] == reported["seconds"]["refit"] > 0
    assert kept["refit"] is None and alone["refit"] is None and "refit" not in alone["seconds"]
    test = read_ratings(ratings_file).split(0.1, 0)[1]
    error = kept["results"][-1]["test_rmse"]
    assert load_model(tmp_path / "k").evaluate(test)["rmse"] == pytest.approx(error, abs=1e-6)
    assert load_model(tmp_path / "m").evaluate(test)["rmse"] < error - 0.01


def test_the_saved_model_is_that_of_all_ratings(verb, ratings_file, tmp_path):
    named = (*PLAIN, "--learning-rate", 0.2, "--regularization", 0.05)
    trained(verb, ratings_file, *named, "--model", tmp_path / "m")
    trained(verb, ratings_file, *named, "--test-fraction", 0, "--model", tmp_path / "all")
    assert same(load_model(tmp_path / "m"), load_model(tmp_path / "all"))


def same(one, other):
    return all(
        np.array_equal(a, b) for pair in ("_state", "_rated") for a, b in zip(*(getattr(m, pair) for m in (one, other)))
    )


def test_a_test_file_is_never_trained_on(verb, ratings_file, tmp_path):
    test = write_rows(tmp_path / "test.csv", [(100, "a00", 5), (101, "a01", 1), (102, "a02", 2)])
    result = trained(verb, ratings_file, "--test", test, *PLAIN, "--model", tmp_path / "m")
    assert result["refit"] is None and result["test_ratings"] == 3
    assert load_model(tmp_path / "m").rating_counts()[0].sum() == result["train_ratings"] == len(planted()[0])


@pytest.mark.slow
@pytest.mark.parametrize("stop", [1, 2])
def test_a_stop_in_the_second_training(verb, ratings_file, tmp_path, monkeypatch, stop):
    """The same command with --resume gives the same report and the same model."""
    fitting = MatrixFactorization.refit

    def interrupted(self, X, *, progress, **more):
        def stopping(stage, done, total, info):
            if stage == "training" and done == stop:
                os.kill(os.getpid(), signal.SIGINT)

        return fitting(self, X, progress=stopping, **more)

    arguments = ("train-lshmf", ratings_file, *PLAIN, "--force", "--json")
    with limit_threads(1):
        whole = json.loads(verb(*arguments, "--model", tmp_path / "whole").out)
        arguments = (*arguments, "--model", tmp_path / "m", "--checkpoint", tmp_path / "point")
        monkeypatch.setattr(MatrixFactorization, "refit", interrupted)
        halted = verb(*arguments)
        assert halted.code == 130 and "--resume goes on from it" in halted.err
        assert not (tmp_path / "m").exists()
        monkeypatch.undo()
        monkeypatch.setattr(run, "Judge", counting := Counting())
        resumed = json.loads(verb(*arguments, "--resume").out)
    assert counting.starts == [3, stop]  # all epochs of the first training are done, and some of the second
    assert resumed["results"] == whole["results"] and resumed["chosen"] == whole["chosen"]
    assert same(load_model(tmp_path / "m"), load_model(tmp_path / "whole"))


class Counting:
    """run.Judge with the number of completed epochs at the start of a training."""

    def __init__(self):
        self.starts, self.kind = [], run.Judge

    def __call__(self, session, held_out, scale, patience, history=(), best_state=None):
        self.starts.append(len(history))
        return self.kind(session, held_out, scale, patience, history, best_state)
