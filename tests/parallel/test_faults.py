"""What befalls ranks in the midst of their work: one is killed where mpiexec has started them, the disk is full."""

import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from gpukit.factorization import MatrixFactorization
from gpukit.graphs import synth_graph
from gpukit.ratings import synth_ratings
from gpukit.runtime.launcher_env import TEAM_VARIABLE
from parallel.test_commands import GPUKIT, children, mpiexec, started

WALK = ("--weights", "slice", "--center", "none", "--no-rank-phase", "--tolerance", 0)
TRAINING = ("--factors", 6, "--no-neighbors", "--learning-rate", 0.01)


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """{what: a file of it}: ratings, a model of them, a tensor."""
    folder, table = tmp_path_factory.mktemp("inputs"), synth_ratings("ml-10m", 0.03, 1)
    columns = table.user_ids[table.users], table.item_ids[table.items], table.values
    np.savetxt(folder / "ratings.csv", np.stack(columns, axis=1), "%g", delimiter=",")
    MatrixFactorization(4, n_epochs=1, device="cpu", learning_rate=0.1, regularization=0.05).fit(table).save(
        folder / "m.gpukit"
    )
    data = synth_graph("random", 60, (40, 30), 2, 0.2, entries=True, noise=0.1)
    np.savez(folder / "g.npz", tensor=data.tensor, mask=data.mask, adjacency=data.adjacency.toarray())
    return {
        name: folder / file for name, file in (("ratings", "ratings.csv"), ("model", "m.gpukit"), ("graph", "g.npz"))
    }


def endless(what, inputs, out):
    """The words of a command that would take minutes."""
    return {
        "training": ("train-lshmf", inputs["ratings"], *TRAINING, "--epochs", 1_000_000, "--model", out),
        "imputation": ("impute", inputs["graph"], *WALK, "--iterations", 100_000, "--output", out),
    }[what]


def begin(words, before=(), **how):
    """The process of a command on the CPU, quiet."""
    words = [*before, *GPUKIT, *map(str, words), "--device", "cpu", "--quiet"]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **how)


def offspring(number):
    """The Pythons that a process has started, also by others."""
    found = [one for child in children(number) for one in (child, *offspring(child))]
    return [one for one in found if words_of(one)[:1] == [sys.executable.encode()]]


def words_of(number):
    """The command line of a process, [] of one that has ended."""
    try:
        return Path(f"/proc/{number}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return []


def gone(ranks, seconds=20):
    """Whether all processes have ended, or do so soon; of one whose parent has not asked how, no words are left."""
    begun = time.monotonic()
    while any(b"".join(words_of(rank)) for rank in ranks):
        if time.monotonic() - begun > seconds:
            return False
        time.sleep(0.05)
    return True


@pytest.mark.slow
@pytest.mark.parametrize(
    "victim, what",
    [
        (0, "training"),
        (1, "imputation"),
        pytest.param(1, "training", marks=pytest.mark.nightly),
        pytest.param(0, "imputation", marks=pytest.mark.nightly),
    ],
)
def test_a_rank_of_mpiexec_is_killed(inputs, tmp_path, what, victim):
    """In the midst of training over copies of rows, and of the steps of an imputation: all end, no file is left."""
    process = begin(endless(what, inputs, tmp_path / "out.npz"), mpiexec())
    begun = time.monotonic()
    while len(offspring(process.pid)) < 2:
        assert time.monotonic() - begun < 60 and process.poll() is None
        time.sleep(0.05)
    time.sleep(6)
    ranks = offspring(process.pid)
    begun = time.monotonic()
    os.kill(ranks[victim], signal.SIGKILL)
    out, err = process.communicate(timeout=60)
    assert time.monotonic() - begun < 30
    assert process.returncode != 0 and out == "" and "Traceback" not in err and err.count("Error: ") <= 1, err
    assert gone(ranks)
    assert list(tmp_path.iterdir()) == []


def limited():
    """From now on this process writes no large files."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, 1 << 16))


@pytest.mark.slow
@pytest.mark.parametrize("what", ["model", "lists"])
def test_a_full_disk(inputs, tmp_path, what):
    """The first rank alone writes; that fails, and all end by its line."""
    words = {
        "model": ("train-lshmf", inputs["ratings"], *TRAINING, "--epochs", 2, "--model", tmp_path / "m.gpukit"),
        "lists": ("recommend", inputs["model"], "--all", "--by", "rating", "--output", tmp_path / "lists.csv"),
    }[what]
    process = begin((*words, "--ranks", 2), preexec_fn=limited)
    ranks = started(process, 2)
    _, err = process.communicate(timeout=60)
    lines = [line for line in err.splitlines() if not line.startswith("Warning: compiled code cannot be kept")]
    assert process.returncode in (1, 2) and len(lines) == 1 and lines[0].startswith("Error: "), err
    assert not any(Path(f"/proc/{rank}").exists() for rank in ranks)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_request_to_stop_on_a_full_disk(inputs, tmp_path):
    """One line says that it was heard, and why there is no checkpoint."""
    words = ("train-lshmf", inputs["ratings"], *TRAINING, "--regularization", 0.05, "--ranks", 2)
    words = (*words, "--epochs", 1_000_000, "--checkpoint", tmp_path / "ck")
    for seconds in (8, 20, 60):  # until training has begun
        process = begin(words, preexec_fn=limited)
        time.sleep(seconds)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        if "had not begun" not in err:
            break
    told = f"Interrupted. The checkpoint could not be written: cannot write {tmp_path / 'ck'}: File too large.\n"
    assert (process.returncode, err) == (130, told)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize("victim", [0, 1])
def test_a_rank_is_killed_while_lists_are_made(inputs, tmp_path, victim):
    words = ("recommend", inputs["model"], "--all", "--by", "rating", "--output", tmp_path / "lists.csv", "--ranks", 2)
    process = begin(words)
    ranks = started(process, 2)
    begun = time.monotonic()
    while process.poll() is None and not list(tmp_path.iterdir()) and time.monotonic() - begun < 30:
        time.sleep(0.01)  # its first lists are there
    os.kill(ranks[victim], signal.SIGKILL)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1 and err.count("\n") == 1, err
    assert not any(Path(f"/proc/{rank}").exists() for rank in ranks)
    assert not (tmp_path / "lists.csv").exists()


def heeds(number):
    """Whether a process answers SIGTERM."""
    try:
        status = Path(f"/proc/{number}/status").read_text()
    except OSError:
        return False
    return bool(int(status.partition("SigCgt:")[2].split()[0], 16) >> (signal.SIGTERM - 1) & 1)


@pytest.mark.slow
@pytest.mark.parametrize(
    "seconds", [0.0, pytest.param(0.5, marks=pytest.mark.nightly), 1.1, pytest.param(1.8, marks=pytest.mark.nightly)]
)
@pytest.mark.parametrize("how", ["ranks", "mpiexec"])
def test_a_rank_is_asked_to_stop_while_ranks_start(inputs, tmp_path, how, seconds):
    """Before it can tell the others, or just then: all end, by one line where no mpiexec adds its own."""
    words = endless("training", inputs, tmp_path / "m.gpukit")
    process = begin((*words, "--ranks", 2)) if how == "ranks" else begin(words, mpiexec())
    ranks = started(process, 2) if how == "ranks" else []
    begun = time.monotonic()
    while len(ranks) < 2:
        assert time.monotonic() - begun < 60 and process.poll() is None
        ranks = offspring(process.pid)
        time.sleep(0.01)
    while not heeds(ranks[1]):
        assert time.monotonic() - begun < 60
        time.sleep(0.01)
    time.sleep(seconds)
    os.kill(ranks[1], signal.SIGTERM)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 143 and "Traceback" not in err and "Error: " not in err, err
    assert how == "mpiexec" or err.count("\n") == 1, err
    assert gone(ranks) and list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize("heeds", [True, False])
def test_a_rank_that_is_asked_to_stop_in_its_first_moment_tells_the_others(inputs, tmp_path, heeds):
    """Between the first line of its process and its command. One that does not heed signals yet is ended without a
    word; the launcher tells the others at once, and the caller where the first did not heed either."""
    command = (
        "import os, signal; from gpukit.cli import process; "
        f"last = os.environ[{TEAM_VARIABLE!r}].startswith('1,'); "
        f"deaf = lambda: {heeds} or signal.signal(signal.SIGTERM, signal.SIG_DFL); "
        "stop = lambda: (deaf(), signal.raise_signal(signal.SIGTERM)); "
        "process.raise_gc_threshold = stop if last else int; process.main()"
    )
    words = [*map(str, endless("training", inputs, tmp_path / "m.gpukit")), "--device", "cpu", "--quiet"]
    code = (
        f"from gpukit.parallel import launch\nlaunch.HEARD = 30.0\n"
        f"try: code = launch.launch({words!r}, 2, command={command!r})\n"
        "except KeyboardInterrupt as stop: code, told = 128 + stop.number, stop.told\n"
        "else: told = True\n"
        "import sys; told or print('Interrupted. No file was left half written.', file=sys.stderr)\n"
        "raise SystemExit(code)"
    )
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (process.returncode, process.stderr) == (143, "Interrupted. No file was left half written.\n")
