"""Ctrl-C: one line, exit code 130, a complete checkpoint, no incomplete files; --resume continues."""

import json
import os
import pty
import signal
import subprocess
import sys

import pytest
from cli_support import NAMED, PATIENCE, heed_ctrl_c, read_until

from gpukit.errors import DataError
from gpukit.persist import load_header


@pytest.fixture
def ctrl_c_at(monkeypatch):
    """Return ctrl_c_at(stage, done): send SIGINT at this progress of a command."""

    def plant(wanted, at):
        def press(self, stage, done, total, info=None):
            if (stage, done) == (wanted, at):
                signal.raise_signal(signal.SIGINT)

        monkeypatch.setattr("gpukit.cli.report.Progress.__call__", press)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
    yield plant
    signal.signal(signal.SIGINT, before)


def results(verb, *arguments):
    result = verb("train-lshmf", "--json", *NAMED, "--epochs", 6, "--deterministic", *arguments)
    assert result.code == 0, result
    return json.loads(result.out)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [(), ("--neighbors", 0)])
def test_resuming_ends_where_training_in_one_go_does(verb, ratings_file, tmp_path, ctrl_c_at, monkeypatch, kind):
    checkpoint = tmp_path / "ck"
    whole = results(verb, ratings_file, *kind)
    ctrl_c_at("training", 4)
    options = ("--epochs", 6, "--deterministic", *kind, "--quiet")
    result = verb("train-lshmf", ratings_file, "--checkpoint", checkpoint, *NAMED, *options)
    assert result.code == 130 and result.out == ""
    left = f"The checkpoint {checkpoint} is whole: the same command with --resume goes on from it."
    assert result.err == f"Interrupted. {left}\n"
    assert load_header(checkpoint)["epochs_done"] == 4 and os.listdir(tmp_path) == ["ck"]
    monkeypatch.undo()
    resumed = results(verb, ratings_file, "--checkpoint", checkpoint, "--resume", *kind)
    assert resumed["results"] == whole["results"] and resumed["epochs"] == 6
    assert resumed["history"][:4] == load_header(checkpoint)["history"]  # seconds too: those epochs were not repeated


def test_without_a_checkpoint_it_is_said_that_nothing_was_kept(verb, ratings_file, tmp_path, ctrl_c_at):
    ctrl_c_at("training", 2)
    result = verb("train-lshmf", ratings_file, "--model", tmp_path / "m", *NAMED, "--quiet")
    assert result.code == 130 and result.err.startswith("Interrupted. Nothing was kept; --checkpoint FILE")
    assert result.err.count("\n") == 1 and os.listdir(tmp_path) == []


@pytest.mark.parametrize("solver", [(), ("--solver", "als")], ids=str)
@pytest.mark.parametrize("before", [True, False])
def test_a_checkpoint_that_cannot_be_written(verb, ratings_file, tmp_path, ctrl_c_at, monkeypatch, before, solver):
    """Both errors in one line, with the exit code of a stop."""
    checkpoint = tmp_path / "ck"
    if before:
        checkpoint.write_text("an earlier one")

    def full(path, *args):
        raise DataError(f"cannot write {path}: No space left on device.")

    monkeypatch.setattr("gpukit.factorization.run.saving.save_checkpoint", full)
    monkeypatch.setattr("gpukit.factorization.constants.RULES.checkpoint_seconds", 1e9)  # for any time of compilation
    ctrl_c_at("training", 2)
    result = verb(
        "train-lshmf", ratings_file, "--checkpoint", checkpoint, *NAMED, "--neighbors", 0, "-q", "--force", *solver
    )
    left = " The one of before is whole: --resume goes on from it." if before else ""
    message = f"The checkpoint could not be written: cannot write {checkpoint}: No space left on device.{left}"
    assert (result.code, result.out, result.err) == (130, "", f"Interrupted. {message}\n")


def test_before_training_there_is_no_checkpoint_to_speak_of(verb, ratings_file, tmp_path, ctrl_c_at):
    ctrl_c_at("neighbours", 0)
    result = verb("train-lshmf", ratings_file, "--checkpoint", tmp_path / "ck", *NAMED, "--quiet")
    assert result.code == 130 and "Training had not begun" in result.err and os.listdir(tmp_path) == []


@pytest.mark.slow
def test_recommendations_are_written_whole_or_not_at_all(verb, model_file, tmp_path, ctrl_c_at):
    ctrl_c_at("recommending", 60)
    result = verb("recommend", model_file, "--all", "--by", "rating", "--output", tmp_path / "all.csv")
    assert result.code == 130 and result.err == "Interrupted. No file was left half written.\n"
    assert os.listdir(tmp_path) == []


@pytest.mark.slow
def test_a_real_ctrl_c_on_a_terminal(ratings_file, tmp_path):
    checkpoint, options = tmp_path / "ck", [str(option) for option in NAMED]
    command = [sys.executable, "-m", "gpukit.cli.main", "train-lshmf", ratings_file, *options, "--epochs", "1000000000"]
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*command, "--checkpoint", checkpoint, "--model", tmp_path / "m"],
        stderr=theirs,
        stdout=subprocess.PIPE,
        preexec_fn=heed_ctrl_c,
    )
    try:
        read_until(ours, b"training [")  # the bar
        process.send_signal(signal.SIGINT)
        last = read_until(ours, b"goes on from it.")
        out, _ = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
        os.close(ours)
        os.close(theirs)
    assert process.returncode == 130 and out == b"" and b"Traceback" not in last
    assert b"\r\x1b[KInterrupted. The checkpoint" in last  # the bar is wiped first
    assert os.listdir(tmp_path) == ["ck"] and load_header(checkpoint)["epochs_done"] > 0
