"""Full disks, read-only folders, two writers of one file, and closed or full standard streams."""

import os
import resource
import subprocess
import sys

import pytest

from reliability.verbs import CASES, arguments, is_whole

LARGEST = 100  # largest size of a file
WRITERS = ["convert OUT", "recommend --output", "rank --output", "train-lshmf --model", "impute --output"]
TO_STDOUT = {
    "predict": ("predict", "{in}/m.gpukit", "{in}/r.csv"),
    "rank": ("rank", "{in}/rank.gpukit", "{in}/d.txt"),
    "doctor": ("doctor",),
    "--help": ("--help",),
}


def command(words, **options):
    """Start gpukit in a separate process; see subprocess.Popen."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([sys.executable, "-P", "-m", "gpukit", *words], **{**pipes, **options})


@pytest.mark.parametrize("name", WRITERS)
def test_a_full_disk_is_one_line_and_leaves_the_old_file(name, folder, tmp_path, capsys):
    from gpukit.cli.main import run

    out = tmp_path / CASES[name].output
    out.write_text("old")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    words = [*arguments(name, folder, out), "--force", *(() if "impute" in name or "rank " in name else ("--quiet",))]
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (LARGEST, before[1]))  # Python ignores SIGXFSZ: writing fails
        code = run(words)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("Error")]
    assert code in (1, 2) and len(lines) == 1 and f"cannot write {out}: File too large" in lines[0]
    assert out.read_text() == "old" and os.listdir(tmp_path) == [out.name]


@pytest.mark.parametrize("name", WRITERS)
def test_a_folder_that_is_read_only_is_one_line(name, folder, tmp_path, capsys, monkeypatch):
    from gpukit import persist
    from gpukit.cli.main import run

    out = tmp_path / "shut" / CASES[name].output
    out.parent.mkdir()
    allowed = os.access
    monkeypatch.setattr(persist.os, "access", lambda path, mode: path != out.parent and allowed(path, mode))  # for root
    assert run(arguments(name, folder, out)) == 2
    shown = capsys.readouterr()
    assert shown.out == "" and shown.err.count("\n") == 1 and "no permission to write" in shown.err
    assert os.listdir(out.parent) == []


@pytest.mark.slow
def test_two_who_write_one_file(folder, tmp_path):
    out = tmp_path / "o.gkr"
    writers = [command([*arguments("convert OUT", folder, out), "--force"]) for _ in range(2)]
    for writer in writers:
        _, err = writer.communicate(timeout=200)
        assert writer.returncode == 0 and err == ""
    assert is_whole(out) and os.listdir(tmp_path) == [out.name]


@pytest.mark.slow
@pytest.mark.parametrize("name", TO_STDOUT)
def test_a_full_stdout_is_one_line(name, folder):
    words = [word.replace("{in}", str(folder)) for word in TO_STDOUT[name]]
    with open("/dev/full", "w") as full:
        process = command(words, stdout=full)
        _, err = process.communicate(timeout=200)
    assert process.returncode == 1
    assert err.splitlines()[-1:] == ["Error: cannot write on standard output: No space left on device."]
    assert "Traceback" not in err and err.count("Error") == 1


@pytest.mark.parametrize(
    "name, closed, said",
    [
        ("predict", 1, ["Error: cannot write on standard output: Bad file descriptor."]),
        ("--help", 1, ["Error: cannot write on standard output: Bad file descriptor."]),
        ("--help", 0, []),
        ("--help", 2, []),
    ],
)
def test_a_closed_stream(name, closed, said, folder):
    words = [word.replace("{in}", str(folder)) for word in TO_STDOUT[name]]
    process = command(words, preexec_fn=lambda: os.close(closed))
    _, err = process.communicate(timeout=200)
    assert process.returncode == len(said) and err.splitlines() == said


@pytest.mark.slow
@pytest.mark.parametrize("name", ["predict", "--help"])
def test_who_has_seen_enough_of_a_pipe(name, folder):
    words = [word.replace("{in}", str(folder)) for word in TO_STDOUT[name]]
    process = command(words)
    process.stdout.readline()
    process.stdout.close()
    err = process.stderr.read()
    assert process.wait(200) == 0 and "Error" not in err and "Traceback" not in err
