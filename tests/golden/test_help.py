"""--help of each command, word for word."""

import pytest

from golden.command import Case, run

COMMANDS = (
    *("train-lshmf", "tune", "update", "predict", "evaluate", "recommend", "similar", "explain", "export"),
    *("ranksvm", "rank", "impute", "convert", "synth", "bench", "doctor"),
)


CASES = tuple(Case(command or "gpukit", f"{command} --help".strip()) for command in ("", *COMMANDS))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_help(check, case):
    check(case)


def test_the_commands_are_those_of_help(tmp_path, monkeypatch):
    """No command is without its case."""
    listed = run("--help", None, monkeypatch, tmp_path)["stdout"].partition("Commands:")[2].splitlines()
    assert {line.split()[0] for line in listed if line.startswith("  ") and line[2:3].strip()} == set(COMMANDS)
