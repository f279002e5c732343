"""The first run of a command: what is compiled ahead, and that this is said once."""

import io
import itertools
from types import SimpleNamespace

import click
import numpy as np
import pytest
from cli_support import NAMED

from gpukit import _jit, timing
from gpukit.cli import report
from gpukit.compilation import helpers
from gpukit.compilation.helpers import Helpers
from gpukit.compilation.signatures import Task


@pytest.fixture
def begun(monkeypatch):
    """The calls of helpers.begin, all of them first ones: (jobs, alone)."""
    calls = []
    monkeypatch.setattr(helpers, "is_of_other_processor", lambda job, capability: False)
    monkeypatch.setattr(helpers, "begin", lambda *jobs, alone, capability: calls.append((jobs, alone)) or 37)
    return calls


@pytest.mark.parametrize("kind", ["ratings", "clicks"])
def test_what_both_kinds_need_and_then_the_rest_of_one(verb, begun, tmp_path, kind):
    rng = np.random.default_rng(0)
    rows = {(user, item): rng.integers(1, 6) for user in range(20) for item in rng.choice(15, 8, False).tolist()}
    lines = [f"{user},{item}" + f",{value}" * (kind == "ratings") for (user, item), value in rows.items()]
    (tmp_path / "data.csv").write_text("\n".join(lines) + "\n")
    words = "--device", "cpu", "--factors", "2", "--epochs", "1", "--no-neighbors"
    done = verb("train-lshmf", tmp_path / "data.csv", *words)
    assert done.code == 0, done.err
    assert begun == [(("ratings", "clicks"), True), ((kind,), True)]
    assert done.err.count("The first run compiles about 37 functions, once per machine.\n") == 1


def test_code_for_another_processor_is_reported(verb, begun, monkeypatch, ratings_file):
    monkeypatch.setattr(helpers, "is_of_other_processor", lambda job, capability: job == "clicks")
    done = verb("train-lshmf", ratings_file, *NAMED)
    assert "once per machine; the cache has code for another processor.\n" in done.err


@pytest.mark.parametrize("words", [("train-lshmf",), ("tune",), ("ranksvm",), ("impute",)])
def test_nothing_is_compiled_for_a_file_that_does_not_exist(verb, begun, tmp_path, words):
    done = verb(*words, tmp_path / "none.csv", "--device", "cpu")
    assert done.code == 2 and done.err.count("\n") == 1 and "none.csv does not exist. Check the name" in done.err
    assert begun == []


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def compiler(monkeypatch):
    """A function that reports names to the listener within a command; returns what it wrote on stderr."""

    def run(stream, *names, **values):
        monkeypatch.setattr("sys.stderr", stream)
        with click.Context(click.Command("c"), info_name="c") as context:
            context.params = values
            for name in names:
                timing.announce(name)
        return stream.getvalue()

    monkeypatch.setattr(timing, "listener", report.hear_compiler)
    monkeypatch.setattr(_jit, "helpers", Helpers([Task("m", name, "int64") for name in "abc"], 0, 48))
    return run


def test_a_terminal_shows_what_is_compiled(compiler, monkeypatch):
    clear = "\r\x1b[K"
    _jit.helpers.claim(("m", "b"))
    text = "compiling 1 of about 48 (once per machine): "
    assert compiler(Terminal(), "f", "g", None, None) == f"{clear}{text}f{clear}{text}g{clear}"
    monkeypatch.setattr(_jit, "helpers", None)
    assert compiler(Terminal(), "f" * 200, None) == f"{clear}compiling (once per machine): {'f' * 49}{clear}"
    assert compiler(Terminal(), "f", None, quiet=True) == compiler(Terminal(), "f", None, as_json=True) == ""
    assert compiler(Terminal(), None) == ""


def test_elsewhere_a_line_is_written_every_15_seconds(compiler, monkeypatch):
    clock = itertools.count(0, 4)
    monkeypatch.setattr(report, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    lines = compiler(io.StringIO(), *"abcdefghij", None).splitlines()
    assert len(lines) == 2 and all(line.startswith("compiling 0 of about 48 (once per machine): ") for line in lines)
    assert compiler(io.StringIO(), *"abcdefghij", None, quiet=True) == ""


def test_threads_without_a_command_are_silent(compiler, capsys):
    timing.announce("f")
    timing.announce(None)
    assert capsys.readouterr() == ("", "")


def test_a_function_that_is_not_in_the_cache_is_announced(monkeypatch):
    names = []
    monkeypatch.setattr(timing, "listener", names.append)

    @_jit.njit
    def halve_a_number(x):
        return x / 2

    assert halve_a_number(3.0) == 1.5 and halve_a_number(5.0) == 2.5
    assert names in (["halve_a_number", None], [None])  # the second time it is in the cache
    names.clear()
    halve_a_number._cache.flush()
    halve_a_number.overloads.clear()
    halve_a_number._make_finalizer()
    assert halve_a_number.compile((_jit.types.float64,)) and names == ["halve_a_number"]
