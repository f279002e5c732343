"""Difficult values for every option and argument of every verb: a result, or one line with exit code 1 or 2."""

import click
import pytest
from cli_support import CPU

from reliability.test_outputs import commands
from reliability.verbs import CASES, arguments

HURT = ("nan", "-inf", "1e300", "-1", "0", str(2**31), str(2**63), "")
AS_LONG_AS_ASKED = {"--epochs", "--iterations", "--max-iter"}  # not tried with permitted numbers
READERS = {
    "similar": ("similar", "{in}/m.gpukit", "--item", "1"),
    "explain": ("explain", "{in}/m.gpukit", "--user", "1", "--item", "1"),
    "evaluate": ("evaluate", "{in}/m.gpukit", "{in}/r.csv", *CPU),
}


def is_number(option):
    """Return True if an option takes a number, or a range of one."""
    return isinstance(option, click.Option) and isinstance(
        option.type, click.types.IntParamType | click.types.FloatParamType
    )


def base(verb, folder, out):
    """Return valid arguments of a verb: its first case of those that write, else of those that read."""
    name = next((name for name in CASES if name.rpartition(" ")[0] == verb), None)
    if name is None:
        return [word.replace("{in}", str(folder)) for word in READERS[verb]]
    return [*arguments(name, folder, out / CASES[name].output), "--force"]


NUMBERED = {verb: options for verb, one in commands().items() if (options := list(filter(is_number, one.params)))}
APART = {"bench", "doctor"}  # measurements of bench take long


@pytest.mark.slow
@pytest.mark.parametrize(
    "verb",
    [pytest.param(v, marks=pytest.mark.nightly) if v == "ranksvm" else v for v in sorted(set(NUMBERED) - APART)],
)
def test_numbers_that_hurt(verb, folder, tmp_path, capsys, recwarn):
    from gpukit.cli.main import run

    words = base(verb, folder, tmp_path)
    assert run(words) == 0, capsys.readouterr().err
    for option in NUMBERED[verb]:
        name = option.opts[0]
        if name in {"--ranks", "--gpus"}:
            continue
        for number in HURT:
            if name in AS_LONG_AS_ASKED and len(number) > 9:
                continue
            code = run([*words, f"{name}={number}"])
            lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("Error")]
            assert code in (0, 1, 2) and len(lines) == (code > 0), (name, number, code, lines)
    assert not [one for one in recwarn if issubclass(one.category, RuntimeWarning)]


TEXTS = ("", "x" * 300, ",", "{", "*", "[", "\udcff")
OTHERS = {
    verb: [
        one
        for one in command.params
        if isinstance(one, click.Option) and not (one.is_flag or is_number(one) or one.name in {"gpus", "dask"})
    ]
    for verb, command in commands().items()
    if verb not in APART
}


@pytest.mark.slow
@pytest.mark.parametrize("verb", sorted(OTHERS))
def test_text_that_hurts(verb, folder, tmp_path, capsysbinary, monkeypatch):
    from gpukit.cli.main import run

    monkeypatch.chdir(tmp_path)  # for names of output
    words = base(verb, folder, tmp_path)
    for option in OTHERS[verb]:
        name = option.opts[0]
        for text in TEXTS:
            code = run([*words, f"{name}={text}"])
            lines = [line for line in capsysbinary.readouterr().err.splitlines() if line.startswith(b"Error")]
            assert code in (0, 1, 2) and len(lines) == (code > 0), (name, text, code, lines)
            assert text or (code == 2 and name.encode() in lines[0]), (name, code, lines)


@pytest.mark.parametrize("verb", sorted(verb for verb, command in commands().items() if verb not in APART))
@pytest.mark.parametrize("text", ["", "x" * 300])
def test_arguments_that_hurt(verb, text, tmp_path, capsys, monkeypatch):
    from gpukit.cli.main import run

    monkeypatch.chdir(tmp_path)
    arguments = [one for one in commands()[verb].params if isinstance(one, click.Argument)]
    assert run([*verb.split(), *[text] * len(arguments)]) == 2
    assert capsys.readouterr().err.count("\n") == 1 and not list(tmp_path.iterdir())
