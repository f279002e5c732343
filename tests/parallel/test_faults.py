"""Faults of ranks: killed ranks of mpiexec, a full disk, stop requests."""

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
from parallel.test_commands import GPUKIT, children, mpiexec, wait_for_ranks, wait_for_work

STEPS = ("--weights", "slice", "--center", "none", "--no-rank-phase", "--tolerance", 0)
TRAINING = ("--factors", 6, "--no-neighbors", "--learning-rate", 0.01, "--regularization", 0.05)


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """Return {name: file} of ratings, a model of them, and a tensor."""
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


def long_command(name, inputs, out):
    """Return the arguments of a command that would take minutes."""
    return {
        "training": ("train-lshmf", inputs["ratings"], *TRAINING, "--epochs", 1_000_000, "--model", out),
        "imputation": ("impute", inputs["graph"], *STEPS, "--iterations", 100_000, "--output", out),
    }[name]


def start(words, before=(), **options):
    """Start a quiet command on the CPU."""
    words = [*before, *GPUKIT, *map(str, words), "--device", "cpu", "--quiet"]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


def offspring(number):
    """Return the Python processes below a process."""
    processes = [process for child in children(number) for process in (child, *offspring(child))]
    return [process for process in processes if words_of(process)[:1] == [sys.executable.encode()]]


def words_of(number):
    """Return the command line of a process, [] if it has ended."""
    try:
        return Path(f"/proc/{number}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return []


def have_ended(ranks, seconds=20):
    """Return True if all processes end within `seconds`; a zombie has no command line."""
    since = time.monotonic()
    while any(b"".join(words_of(rank)) for rank in ranks):
        if time.monotonic() - since > seconds:
            return False
        time.sleep(0.05)
    return True


@pytest.mark.slow
@pytest.mark.parametrize(
    "victim, name",
    [
        (0, "training"),
        (1, "imputation"),
        pytest.param(1, "training", marks=pytest.mark.nightly),
        pytest.param(0, "imputation", marks=pytest.mark.nightly),
    ],
)
def test_a_rank_of_mpiexec_is_killed(inputs, tmp_path, name, victim):
    """During training over copies of rows and during the steps of an imputation: all ranks end, no file is left."""
    process = start(long_command(name, inputs, tmp_path / "out.npz"), mpiexec())
    since = time.monotonic()
    while len(offspring(process.pid)) < 2:
        assert time.monotonic() - since < 60 and process.poll() is None
        time.sleep(0.05)
    ranks = offspring(process.pid)
    wait_for_work(ranks, 3.0)
    since = time.monotonic()
    os.kill(ranks[victim], signal.SIGKILL)
    out, err = process.communicate(timeout=60)
    assert time.monotonic() - since < 30
    out = out.removesuffix("\x1b[0m")  # mpiexec's end of a colour
    assert process.returncode != 0 and out == "" and "Traceback" not in err and err.count("Error: ") <= 1, err
    assert have_ended(ranks)
    assert list(tmp_path.iterdir()) == []


def limit_file_size():
    """Limit the size of files that this process writes."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, 1 << 16))


@pytest.mark.slow
@pytest.mark.parametrize("output", ["model", "lists"])
def test_a_full_disk(inputs, tmp_path, output):
    """Rank 0 fails to write, and all ranks end with its message."""
    words = {
        "model": ("train-lshmf", inputs["ratings"], *TRAINING, "--epochs", 2, "--model", tmp_path / "m.gpukit"),
        "lists": ("recommend", inputs["model"], "--all", "--by", "rating", "--output", tmp_path / "lists.csv"),
    }[output]
    process = start((*words, "--ranks", 2), preexec_fn=limit_file_size)
    ranks = wait_for_ranks(process, 2)
    _, err = process.communicate(timeout=60)
    lines = [line for line in err.splitlines() if not line.startswith("Warning: compiled code cannot be kept")]
    assert process.returncode in (1, 2) and len(lines) == 1 and lines[0].startswith("Error: "), err
    assert not any(Path(f"/proc/{rank}").exists() for rank in ranks)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_stop_request_on_a_full_disk(inputs, tmp_path):
    """The command reports the stop and why there is no checkpoint, in one line."""
    words = ("train-lshmf", inputs["ratings"], *TRAINING, "--ranks", 2)
    words = (*words, "--epochs", 1_000_000, "--checkpoint", tmp_path / "ck")
    for seconds in (2.5, 5, 10, 20):  # until training has started
        process = start(words, preexec_fn=limit_file_size)
        wait_for_work(wait_for_ranks(process, 2), seconds)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        if "checkpoint could not be written" in err:
            break
    message = f"Interrupted. The checkpoint could not be written: cannot write {tmp_path / 'ck'}: File too large.\n"
    assert (process.returncode, err) == (130, message)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize("victim", [0, 1])
def test_a_rank_is_killed_while_it_computes_lists(inputs, tmp_path, victim):
    words = ("recommend", inputs["model"], "--all", "--by", "rating", "--output", tmp_path / "lists.csv", "--ranks", 2)
    process = start(words)
    ranks = wait_for_ranks(process, 2)
    since = time.monotonic()
    while process.poll() is None and not list(tmp_path.iterdir()) and time.monotonic() - since < 30:
        time.sleep(0.01)  # until the first lists are written
    os.kill(ranks[victim], signal.SIGKILL)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1 and err.count("\n") == 1, err
    assert not any(Path(f"/proc/{rank}").exists() for rank in ranks)
    assert not (tmp_path / "lists.csv").exists()


def handles_sigterm(number):
    """Return True if a process has a handler of SIGTERM."""
    try:
        status = Path(f"/proc/{number}/status").read_text()
    except OSError:
        return False
    return bool(int(status.partition("SigCgt:")[2].split()[0], 16) >> (signal.SIGTERM - 1) & 1)


@pytest.mark.slow
@pytest.mark.parametrize(
    "seconds", [0.0, pytest.param(0.5, marks=pytest.mark.nightly), 1.1, pytest.param(1.8, marks=pytest.mark.nightly)]
)
@pytest.mark.parametrize("launcher", ["ranks", "mpiexec"])
def test_a_rank_gets_a_stop_request_while_ranks_start(inputs, tmp_path, launcher, seconds):
    """Before or while it connects: all ranks end, by --ranks with one line."""
    words = long_command("training", inputs, tmp_path / "m.gpukit")
    process = start((*words, "--ranks", 2)) if launcher == "ranks" else start(words, mpiexec())
    ranks = wait_for_ranks(process, 2) if launcher == "ranks" else []
    since = time.monotonic()
    while len(ranks) < 2:
        assert time.monotonic() - since < 60 and process.poll() is None
        ranks = offspring(process.pid)
        time.sleep(0.01)
    while not handles_sigterm(ranks[1]):
        assert time.monotonic() - since < 60
        time.sleep(0.01)
    time.sleep(seconds)
    os.kill(ranks[1], signal.SIGTERM)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 143 and "Traceback" not in err and "Error: " not in err, err
    assert launcher == "mpiexec" or err.count("\n") == 1, err
    assert have_ended(ranks) and list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize("has_handler", [True, False])
def test_an_early_stop_request_reaches_all_ranks(inputs, tmp_path, has_handler):
    """Before the rank runs its command. Without a handler the signal ends the rank silently, and the launcher reports
    the request to the others at once, and to the caller if rank 0 has not printed it."""
    command = (
        "import os, signal; from gpukit.cli import process; from gpukit.runtime import start; "
        "last = os.environ['GPUKIT_RANK'] == '1'; "
        f"remove_handler = lambda: {has_handler} or signal.signal(signal.SIGTERM, signal.SIG_DFL); "
        "stop = lambda: (remove_handler(), signal.raise_signal(signal.SIGTERM)); "
        "start.raise_gc_threshold = stop if last else int; process.main()"
    )
    words = [*map(str, long_command("training", inputs, tmp_path / "m.gpukit")), "--device", "cpu", "--quiet"]
    code = (
        f"from gpukit.parallel import launch\nlaunch.FORWARD_SECONDS = 30.0\n"
        f"try: code = launch.launch({words!r}, 2, command={command!r})\n"
        "except KeyboardInterrupt as stop: code, reported = 128 + stop.number, stop.reported\n"
        "else: reported = True\n"
        "import sys; reported or print('Interrupted. No file was left half written.', file=sys.stderr)\n"
        "raise SystemExit(code)"
    )
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (process.returncode, process.stderr) == (143, "Interrupted. No file was left half written.\n")
