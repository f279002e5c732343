"""The command line: the table of verbs, exit codes, one line per error, interrupts."""

import importlib.util
import os
import signal
import subprocess
import sys
import types
from pathlib import Path

import click
import pytest

from gpukit.cli import main, options
from gpukit.errors import DataError, DeviceMemoryError


def plant(monkeypatch, body, name="boom"):
    """Add a verb whose command runs body(ctx)."""

    @click.command(name)
    @click.pass_context
    def command(ctx):
        body(ctx)

    module = types.ModuleType(f"gpukit.cli.{name}")
    setattr(module, name, command)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(main.VERBS, name, ("A planted verb.", name))


def raiser(error):
    def body(ctx):
        raise error

    return body


def test_a_file_that_cannot_be_used_is_one_line(monkeypatch, capsys):
    plant(monkeypatch, lambda ctx: open("x" * 300))
    assert main.run(["boom"]) == 2
    assert capsys.readouterr().err == f"Error: {'x' * 300} cannot be used: File name too long.\n"


def test_help_lists_every_verb(capsys):
    assert main.run(["--help"]) == 0
    text = capsys.readouterr().out
    for verb, (help_line, _) in main.VERBS.items():
        assert verb in text and help_line.split()[0] in text


def test_help_does_not_need_the_verbs_files(monkeypatch, capsys):
    monkeypatch.setitem(main.VERBS, "not-yet", ("Will come.", "no_such_file"))
    assert main.run(["--help"]) == 0
    assert "Will come." in capsys.readouterr().out


@pytest.mark.parametrize("verb", main.VERBS)
def test_every_verb_has_its_file_and_helps(verb, capsys):
    _, module = main.VERBS[verb]
    if importlib.util.find_spec(f"gpukit.cli.{module}") is None:
        pytest.fail(f"cli/{module}.py is not there")
    assert main.run([verb, "--help"]) == 0
    assert f"gpukit {verb}" in capsys.readouterr().out


def test_a_mistyped_verb_is_guessed(capsys):
    for typed, meant in (("trian-lshmf", "train-lshmf"), ("recomend", "recommend"), ("trai", "train-lshmf")):
        assert main.run([typed, "x"]) == 2
        assert f"Did you mean {meant!r}?" in capsys.readouterr().err
    assert main.run(["xyzzy"]) == 2
    assert "No such command 'xyzzy'. (gpukit --help" in capsys.readouterr().err


def test_an_alias_is_the_verb_and_listed_once(capsys):
    assert main.run(["train", "--help"]) == 0
    text = capsys.readouterr().out
    assert main.run(["train-lshmf", "--help"]) == 0 and capsys.readouterr().out == text
    assert "Usage: gpukit train-lshmf" in text
    assert main.run(["--help"]) == 0
    assert capsys.readouterr().out.count("train-lshmf (train)  Learn") == 1
    assert main.run(["train", "/not/there"]) == 2 and "/not/there" in capsys.readouterr().err


def test_a_process_ends_without_looking_through_what_it_imported():
    """Frozen objects are not visited by Python's last collection; exit handlers run."""
    code = (
        "import atexit, gc, sys; from gpukit.cli.process import main; sys.argv[1:] = ['--version'];"
        "atexit.register(lambda: print(gc.get_freeze_count() > 1000)); main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stdout.endswith("True\n")


def test_version(capsys):
    import gpukit

    assert main.run(["--version"]) == 0
    assert gpukit.__version__ in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [["bogus"], ["--bogus"], ["doctor", "--bogus"], ["doctor", "extra"]])
def test_usage_errors_are_2_on_stderr(arguments, capsys):
    assert main.run(arguments) == 2
    shown = capsys.readouterr()
    assert shown.out == "" and "Error" in shown.err and "Traceback" not in shown.err


def test_options_like_an_unknown_one_are_named(capsys):
    assert main.run(["train-lshmf", "ratings.csv", "--factor", "4"]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and error.startswith("Error: No such option")  # the rest is click's, which varies
    assert "--factors" in error and "gpukit train-lshmf --help" in error


@pytest.mark.parametrize("error, code", [(DataError("ratings.csv is empty."), 2), (DeviceMemoryError("too\nlarge"), 1)])
def test_our_errors_are_one_line(monkeypatch, capsys, error, code):
    plant(monkeypatch, raiser(error))
    assert main.run(["boom"]) == code
    shown = capsys.readouterr()
    assert shown.err == f"Error: {str(error)}\n".replace("too\nlarge", "too large") and shown.out == ""


def test_other_errors_are_not_hidden(monkeypatch):
    plant(monkeypatch, raiser(ZeroDivisionError("a bug")))
    with pytest.raises(ZeroDivisionError):
        main.run(["boom"])


def test_an_interrupt_is_one_line_and_130(monkeypatch, capsys):
    plant(monkeypatch, raiser(KeyboardInterrupt()))
    assert main.run(["boom"]) == 130
    assert capsys.readouterr().err == "Interrupted. No file was left half written.\n"


def test_an_interrupt_says_what_survived(monkeypatch, capsys):
    def body(ctx):
        main.set_interrupt_message("The checkpoint ck.gpukit can be resumed.")
        raise KeyboardInterrupt

    plant(monkeypatch, body)
    assert main.run(["boom"]) == 130
    assert capsys.readouterr().err == "Interrupted. The checkpoint ck.gpukit can be resumed.\n"


def test_ctrl_c_in_a_real_process():
    script = (
        "import sys, time, types, click\nfrom gpukit.cli import main\n"
        "m = types.ModuleType('gpukit.cli.nap'); sys.modules[m.__name__] = m\n"
        "m.nap = click.command('nap')(lambda: (print('asleep', flush=True), [time.sleep(0.01) for _ in range(6000)]))\n"
        "main.VERBS['nap'] = ('Sleep.', 'nap')\nmain.main(['nap'])\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "asleep\n"
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130 and errors.startswith("Interrupted.") and "Traceback" not in errors


def test_a_closed_pipe_is_quiet():
    done = subprocess.run(
        f"{sys.executable} -m gpukit.cli.main --help | head -n 1", shell=True, capture_output=True, text=True
    )
    assert done.stdout.startswith("Usage:") and done.stderr == ""


def test_the_formats_offered_are_the_readers():
    from gpukit.ratings import formats

    assert options.FORMATS == formats.FORMATS


@pytest.mark.parametrize(
    "error",
    [
        MemoryError("Unable to allocate 9 GiB"),
        RuntimeError("can't start new thread"),
        OSError(12, "Cannot allocate memory"),
    ],
)
def test_too_little_memory_is_one_line_and_exit_code_1(monkeypatch, capsys, error):
    plant(monkeypatch, raiser(error))
    assert main.run(["boom"]) == 1
    said = capsys.readouterr().err
    assert said.startswith("Error: Out of memory (") and said.count("\n") == 1 and "GiB of main memory are left" in said


def test_other_errors_keep_their_traceback(monkeypatch):
    plant(monkeypatch, raiser(RuntimeError("a bug")))
    with pytest.raises(RuntimeError, match="a bug"):
        main.run(["boom"])


def test_missing_permission_is_one_line_and_exit_code_2(monkeypatch, capsys):
    """Folders that this user may not list raise in many calls of the standard library, such as Path.is_file."""
    plant(monkeypatch, raiser(PermissionError(13, "Permission denied", "others/m.gpukit")))
    assert main.run(["boom"]) == DataError.exit_code
    assert capsys.readouterr().err == "Error: others/m.gpukit cannot be used: Permission denied.\n"


def test_a_deleted_current_folder_is_named_in_one_line(tmp_path, monkeypatch, capsys):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert main.run(["doctor"]) == 2
    assert capsys.readouterr().err == "Error: The current folder was deleted. Change to another one (cd).\n"


@pytest.mark.parametrize("mebibytes", [150, 300, 700])
def test_a_limit_of_memory_is_told_in_one_line(tmp_path, mebibytes):
    (tmp_path / "r.csv").write_text("1,2,3\n2,3,4\n1,3,5\n")
    script = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[1]) << 20,) * 2)\n"
        "from gpukit.cli.main import main; main(['train-lshmf', sys.argv[2], '--model', sys.argv[2] + '.m'])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(mebibytes), str(tmp_path / "r.csv")],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr.startswith("Error: Out of memory (ulimit -v allows") and done.stderr.count("\n") == 1
    assert [file.name for file in tmp_path.iterdir()] == ["r.csv"]


@pytest.mark.parametrize(
    "name, text",
    [
        ("NUMBA_NUM_THREADS", "²"),
        ("PMI_SIZE", "²"),
        ("OMPI_COMM_WORLD_SIZE", "x"),
        ("SLURM_STEP_NUM_TASKS", "-1"),
        ("PMI_RANK", "abc"),
        ("OMPI_COMM_WORLD_RANK", "7"),
    ],
)
def test_a_wrong_environment_is_one_line(name, text):
    settings = {"PMI_RANK": {"PMI_SIZE": "2"}, "OMPI_COMM_WORLD_RANK": {"OMPI_COMM_WORLD_SIZE": "2"}}.get(name, {})
    environment = {**os.environ, **settings, name: text}
    words = [sys.executable, "-m", "gpukit", "ranksvm", "data/letor-sample/Fold1", "--c", "1"]
    done = subprocess.run(words, env=environment, cwd=Path(__file__).parents[2], capture_output=True, text=True)
    assert done.returncode == 2 and done.stderr.startswith(f"Error: {name}=") and done.stderr.count("\n") == 1
    assert done.stdout == ""
