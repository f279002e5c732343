"""Completion of command lines: verbs, options, choices and files; a real bash."""

import os
import pty
import select
import subprocess
import sys
import time

import pytest
from click.shell_completion import BashComplete

from gpukit.cli import main


def completions(line):
    """Return [(type, value)] for the last word of a line, without the name of the program."""
    *words, incomplete = line.split(" ")
    found = BashComplete(main.gpukit, {}, "gpukit", main.COMPLETING).get_completions(words, incomplete)
    return [(item.type, item.value) for item in found]


@pytest.mark.parametrize(
    "line, expected",
    [
        ("re", ["recommend"]),
        ("trai", ["train-lshmf"]),
        ("xyz", []),
        ("--v", ["--version"]),
        ("xyz --v", ["--version"]),
        ("train-lshmf --lsh", ["--lsh-p", "--lsh-q", "--lsh-bits", "--lsh-psi"]),
        ("train --lsh-p 3 --lsh", ["--lsh-q", "--lsh-bits", "--lsh-psi"]),
        ("train-lshmf --search h", ["hamming"]),
        ("synth g", ["graph"]),
        ("synth graph --li", ["--like"]),
        ("doctor --compile gr", ["graphs"]),
    ],
)
def test_words(line, expected):
    assert completions(line) == [("plain", word) for word in expected]


def test_the_first_word_is_a_verb():
    assert [value for _, value in completions("")] == list(main.VERBS)


PATHS = (
    "train my",
    "predict m my",
    "impute --edges my",
    "evaluate m t --against my",
    "convert my",
    "synth letor my",
    "synth graph --edges my",
)
VALUES = "train --factors 1", "recommend m --user u", "train --columns u", "ranksvm --c 1", "doctor --compile m"


@pytest.mark.parametrize("line", PATHS)
def test_files(line):
    assert completions(line) == [("file", "my")]


@pytest.mark.parametrize("line", VALUES)
def test_other_values_are_not_completed(line):
    assert completions(line) == []


def test_a_shell_of_slurm_is_completed(monkeypatch):
    monkeypatch.setattr(main, "launched_ranks", lambda: (2, 0))
    assert completions("doctor --co") == [("plain", "--compile")]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_scripts_of_shells(shell, monkeypatch, capsys):
    monkeypatch.setenv(main.COMPLETING, f"{shell}_source")
    assert main.run_alone([]) == 0
    assert f"{main.COMPLETING}={shell}_complete" in capsys.readouterr().out


@pytest.mark.parametrize(
    "shell, expected", [("bash", "plain,similar\n"), ("zsh", "plain\nsimilar\nList"), ("fish", "plain,similar\tList")]
)
def test_what_a_shell_reads(shell, expected, monkeypatch, capsys):
    settings = {main.COMPLETING: f"{shell}_complete", "COMP_WORDS": "gpukit sim", "COMP_CWORD": "1"}
    for name, value in (settings | ({"COMP_CWORD": "sim"} if shell == "fish" else {})).items():
        monkeypatch.setenv(name, value)
    assert main.run_alone([]) == 0
    assert capsys.readouterr().out.startswith(expected)


@pytest.mark.slow
def test_a_line_in_bash(tmp_path):
    """Tab completes the verb, an option and a file; the program then prints its arguments."""
    program = tmp_path / "gpukit"
    program.write_text(
        f'#!/bin/sh\n[ -z "$_GPUKIT_COMPLETE" ] || exec {sys.executable} -m gpukit\nprintf "<%s>" "$@"; echo\n'
    )
    program.chmod(0o755)
    (tmp_path / "my-model.gpukit").touch()
    ours, theirs = pty.openpty()
    env = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}", "TERM": "dumb", "PYTHONPATH": os.getcwd()}
    streams = {"stdin": theirs, "stdout": theirs, "stderr": theirs}
    shell = subprocess.Popen(["bash", "--norc", "-i"], **streams, cwd=tmp_path, env=env, start_new_session=True)
    try:
        os.write(ours, b'eval "$(_GPUKIT_COMPLETE=bash_source gpukit)"\n')
        os.write(ours, b"gpukit trai\t--mod\tmy-mo\t\n")
        text, late = "", time.monotonic() + 120
        while "<train-lshmf><--model><my-model.gpukit>" not in text:
            assert time.monotonic() < late, text
            if select.select([ours], [], [], 1)[0]:
                text += os.read(ours, 4096).decode()
    finally:
        shell.kill()
        shell.wait()
        os.close(ours)
        os.close(theirs)
