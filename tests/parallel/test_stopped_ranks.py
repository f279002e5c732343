"""Stopped ranks end all ranks with one line, unless they continue in time."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from parallel.test_commands import mpiexec, wait_for_ranks, wait_for_work
from parallel.test_faults import have_ended, inputs, long_command, offspring  # noqa: F401 (a fixture)
from parallel.test_launch import JOIN, PRINT_PIDS, START, finish

SHORT = "import gpukit.parallel.heartbeat as heartbeat; heartbeat.PATIENCE = 2.0; import gpukit.parallel.mpi as mpi; "
HEED = "from gpukit import interrupt; interrupt.heed(); "
MAIN = "from gpukit.cli.process import main; main()"
LAUNCHER = (
    "from gpukit.parallel import launch; launch.launch.__defaults__ = "
    f"(*launch.launch.__defaults__[:1], {SHORT + MAIN!r}); "
)
COMMAND = [sys.executable, "-P", "-c", LAUNCHER + MAIN]
MARKED = (
    "import itertools, os, pathlib; sent, send = itertools.count(), mpi.Messages.send; "
    "mark = lambda team: next(sent) == 50 and pathlib.Path(os.environ['MARKS'], str(team.rank)).touch(); "
    "mpi.Messages.send = lambda team, rank, data: (mark(team), send(team, rank, data))[1]; "
)  # a rank creates a file once it has sent 50 messages, after compilation
REDUCTIONS = "[(team.allreduce(np.ones(2)), time.sleep(0.01)) for _ in range(200)]; print('done' * (team.rank == 0))"


def start(words, before=(), command=COMMAND, **settings):
    """Start a command on the CPU whose ranks may be stopped for two seconds; settings: environment variables."""
    words = [*before, *command, *map(str, words), "--device", "cpu", "--quiet"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(words, **pipes, env={**os.environ, **settings})


@pytest.mark.slow
@pytest.mark.parametrize(
    "name, victim",
    [
        ("training", 0),
        ("imputation", 1),
        pytest.param("training", 1, marks=pytest.mark.nightly),
        pytest.param("imputation", 0, marks=pytest.mark.nightly),
    ],
)
def test_a_stopped_rank_ends_the_command(inputs, tmp_path, name, victim):  # noqa: F811
    process = start((*long_command(name, inputs, tmp_path / "out.npz"), "--ranks", 2))
    ranks = wait_for_ranks(process, 2)
    wait_for_work(ranks, 2.5)
    since = time.monotonic()
    os.kill(ranks[victim], signal.SIGSTOP)
    out, err = process.communicate(timeout=60)
    assert 2 <= time.monotonic() - since < 30
    assert process.returncode == 1 and out == "" and err.count("\n") == 1, err
    assert err.startswith(f"Error: Rank {victim} on {socket.gethostname()} {'has been' if victim else 'was'} silent"), (
        err
    )
    assert have_ended(ranks, 0)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "victim", [pytest.param(0, marks=pytest.mark.slow), pytest.param(1, marks=pytest.mark.nightly)]
)
def test_a_stopped_rank_of_mpiexec(inputs, tmp_path, tmp_path_factory, victim):  # noqa: F811
    """mpiexec may print more lines."""
    marks, command = tmp_path_factory.mktemp("marks"), [sys.executable, "-P", "-c", SHORT + MARKED + MAIN]
    process = start(long_command("training", inputs, tmp_path / "out.npz"), mpiexec(), command, MARKS=str(marks))
    since = time.monotonic()
    while len(list(marks.iterdir())) < 2:
        assert time.monotonic() - since < 120 and process.poll() is None
        time.sleep(0.05)
    ranks, since = offspring(process.pid), time.monotonic()
    os.kill(ranks[victim], signal.SIGSTOP)
    _, err = process.communicate(timeout=60)
    assert time.monotonic() - since < 30
    assert process.returncode != 0 and "Traceback" not in err and err.count("Error: ") == 1, err
    assert f"Error: Rank {victim} on {socket.gethostname()} has been silent for 2 s" in err, err
    assert have_ended(ranks)
    assert list(tmp_path.iterdir()) == []


def process_state(process):
    """Return the letter of a process's state, b"" if it has ended."""
    try:
        return Path(f"/proc/{process}/stat").read_bytes().rpartition(b")")[2].split()[0]
    except OSError:
        return b""


def job(command, seconds):
    """Return (process, processes of its ranks) of two ranks, started as a job of a shell."""
    code = HEED + START.format(size=2, command=SHORT.replace("2.0", str(seconds)) + JOIN + PRINT_PIDS + command)
    words = [sys.executable, "-P", "-c", code]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, process_group=0)
    return process, list(map(int, process.stdout.readline().split()))


def await_state(processes, letter, seconds=20):
    since = time.monotonic()
    while any((process_state(process) == b"T") != (letter == b"T") for process in processes):
        assert time.monotonic() - since < seconds
        time.sleep(0.02)


@pytest.mark.slow
def test_ctrl_z_stops_and_continues_all():
    process, ranks = job(REDUCTIONS, 1.0)
    for _ in range(2):
        os.killpg(process.pid, signal.SIGTSTP)  # as a terminal sends it
        await_state([process.pid, *ranks], b"T")
        time.sleep(2.5)
        os.killpg(process.pid, signal.SIGCONT)
        await_state([process.pid, *ranks], b"S")
    assert finish(process) == (0, "done\n", "")


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_job_gets_a_stop_request(number):
    process, ranks = job("time.sleep(60)", 1.0)
    os.killpg(process.pid, signal.SIGTSTP)
    await_state([process.pid, *ranks], b"T")
    process.send_signal(number)
    process.send_signal(signal.SIGCONT)
    finish(process)
    assert process.returncode != 0 and have_ended(ranks)
