"""One rule for existing files, for every file that any verb writes: kept, unless --force."""

import importlib
import os
import stat

import click
import pytest

from gpukit.cli.main import VERBS, run
from reliability.verbs import CASES, ELSE, READ, arguments, is_whole

WHILE_IT_LASTS = {"train-lshmf --checkpoint"}  # short trainings end before they write one


def commands():
    """Return {'synth graph': click command} of all verbs."""
    found = {
        verb: getattr(importlib.import_module(f"gpukit.cli.{file}"), file.rpartition(".")[2])
        for verb, (_, file) in VERBS.items()
    }
    groups = [verb for verb in found if isinstance(found[verb], click.Group)]
    for verb in groups:
        group = found.pop(verb)
        found |= {f"{verb} {name}": command for name, command in group.commands.items()}
    return found


def files(verb, command):
    """Return the names of a command's file options."""
    for parameter in command.params:
        name = (
            parameter.opts[0] if isinstance(parameter, click.Option) else parameter.make_metavar(click.Context(command))
        )
        if isinstance(parameter, click.Argument) or parameter.metavar == "FILE":
            yield f"{verb} {name}"


def test_every_file_that_a_verb_takes_is_known():
    taken = {name for verb, command in commands().items() for name in files(verb, command)}
    assert {name for name in taken if not name.startswith(("bench [", "doctor ["))} == set(CASES) | set(ELSE) | READ


def test_every_verb_that_writes_has_force():
    writing = {name.rpartition(" ")[0] for name in CASES}
    assert {verb for verb, command in commands().items() if any("--force" in p.opts for p in command.params)} == writing


@pytest.fixture
def there(tmp_path):
    """Return there(name) -> a link to a file of that name with the content 'old' and mode 600, in separate folders."""

    def make(name):
        real, link = tmp_path / "real" / name, tmp_path / "link" / name
        for path in (real, link):
            path.parent.mkdir()
        real.write_text("old")
        real.chmod(0o600)
        link.symlink_to(real)
        return real, link

    return make


@pytest.mark.parametrize("name", CASES)
def test_a_file_that_is_there_is_kept(name, folder, there, capsys):
    real, link = there(CASES[name].output)
    assert run(arguments(name, folder, link)) == 2
    shown = capsys.readouterr()
    assert shown.out == "" and shown.err.count("\n") == 1 and "--force" in shown.err and str(link) in shown.err
    assert real.read_text() == "old" and os.listdir(real.parent) == os.listdir(link.parent) == [real.name]


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(CASES) - WHILE_IT_LASTS))
def test_by_force_it_is_replaced_behind_its_link_and_keeps_its_mode(name, folder, there, capsys):
    real, link = there(CASES[name].output.rjust(245, "n"))
    assert run([*arguments(name, folder, link), "--force"]) == 0, capsys.readouterr().err
    assert is_whole(real) and stat.S_IMODE(real.stat().st_mode) == 0o600
    assert link.is_symlink() and os.listdir(real.parent) == [real.name]
