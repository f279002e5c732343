"""Stopped ranks end all ranks with one line, unless they continue in time."""

import os
import signal
import socket
import subprocess
import sys
import time

import pytest

from gpukit.parallel import stalled_ranks
from gpukit.parallel.stalled_ranks import (
    RankMonitor,
    StoppedError,
    WaitTimer,
    local_ranks,
    process_identity,
    process_state,
)
from parallel.test_commands import mpiexec, wait_for_ranks
from parallel.test_faults import have_ended, inputs, long_command, offspring  # noqa: F401 (a fixture)
from parallel.test_launch import JOIN, PRINT_PIDS, START, finish

SET_PATIENCE = "import gpukit.parallel.stalled_ranks as stalled_ranks; stalled_ranks.PATIENCE = {}; "
HEED = "from gpukit import interrupt; interrupt.heed(); "
SHORT = SET_PATIENCE.format(2.0) + "import gpukit.parallel.mpi as mpi; mpi.REPORT_SECONDS = 3.0; "
MAIN = "from gpukit.cli.process import main; main()"
COMMAND = [sys.executable, "-P", "-c", SHORT + MAIN]
MARKED = (
    "import itertools, os, pathlib; sent, send = itertools.count(), mpi.Messages.send; "
    "mark = lambda team: next(sent) == 50 and pathlib.Path(os.environ['MARKS'], str(team.rank)).touch(); "
    "mpi.Messages.send = lambda team, rank, data: (mark(team), send(team, rank, data))[1]; "
)  # a rank creates a file once it has sent 50 messages, after compilation
REDUCTIONS = "[(team.allreduce(np.ones(2)), time.sleep(0.01)) for _ in range(200)]; print('done' * (team.rank == 0))"


class Clock:
    """Process states and a time that a test sets."""

    def __init__(self, monkeypatch, states):
        self.states, self.now = states, 100.0
        monkeypatch.setattr(stalled_ranks, "process_state", lambda process: self.states[process])
        monkeypatch.setattr(stalled_ranks.time, "monotonic", lambda: self.now)

    def advance(self, monitor, seconds, step=0.5):
        """Return the rank that the monitor reports within `seconds`, None: none."""
        for _ in range(int(seconds / step)):
            self.now += step
            try:
                monitor.check()
            except StoppedError:
                return monitor.failure[0]
        return None


@pytest.fixture
def clock(monkeypatch):
    return Clock(monkeypatch, {11: b"R", 12: b"S", 13: b"S"})


def make_monitor():
    return RankMonitor({0: 11, 1: 12, 2: 13}, 10.0)


def test_a_rank_that_is_stopped_too_long(clock):
    monitor = make_monitor()
    assert clock.advance(monitor, 60) is None
    clock.states[12] = b"T"
    assert clock.advance(monitor, 9.5) is None
    assert clock.advance(monitor, 3) == 1


def test_a_rank_that_continues_in_time(clock):
    monitor = make_monitor()
    for _ in range(5):
        clock.states[12] = b"T"
        assert clock.advance(monitor, 9) is None
        clock.states[12] = b"S"
        assert clock.advance(monitor, 1.5) is None


def test_a_job_that_is_stopped_as_a_whole(clock):
    """For any time, and while its processes continue one by one; a process that has ended does not run."""
    monitor, clock.states = make_monitor(), {11: b"T", 12: b"T", 13: b"Z"}
    assert clock.advance(monitor, 60) is None
    clock.states[11] = b"S"
    assert clock.advance(monitor, 8) is None
    clock.states[12] = b"S"
    assert clock.advance(monitor, 60) is None


def test_the_monitor_was_stopped_itself(clock):
    """Ranks were stopped with it, and continue after it."""
    monitor, clock.states[12] = make_monitor(), b"T"
    assert clock.advance(monitor, 2) is None
    clock.now += 60
    assert clock.advance(monitor, 8) is None
    clock.states[12] = b"S"
    assert clock.advance(monitor, 60) is None


def test_waiting_does_not_count_while_stopped(clock):
    timer = WaitTimer()
    for _ in range(20):
        clock.now += 0.25
        assert timer.seconds() <= 5.0
    assert timer.seconds() == 5.0
    clock.now += 1000
    assert timer.seconds() == 6.0


def test_local_ranks():
    own, number = process_identity()
    assert number == os.getpid() and own
    assert local_ranks([(own, 5), ("another host", 6), ("", 7), (own, 8)]) == {0: 5, 3: 8}
    assert process_state(number) in (b"R", b"S") and process_state(2**22 + 1) == b""


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
    time.sleep(4)
    since = time.monotonic()
    os.kill(ranks[victim], signal.SIGSTOP)
    out, err = process.communicate(timeout=60)
    assert 2 <= time.monotonic() - since < 15
    assert process.returncode == 1 and out == "" and err.count("\n") == 1, err
    assert err.startswith(f"Error: Rank {victim} on {socket.gethostname()} has been stopped for 2 s"), err
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
    assert f"Error: Rank {victim} on {socket.gethostname()} has been stopped for 2 s" in err, err
    assert have_ended(ranks)
    assert list(tmp_path.iterdir()) == []


def job(command, seconds):
    """Return (process, processes of its ranks) of two ranks, started as a job of a shell."""
    code = HEED + SET_PATIENCE.format(seconds) + START.format(size=2, command=JOIN + PRINT_PIDS + command)
    words = [sys.executable, "-P", "-c", code]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, process_group=0)
    return process, list(map(int, process.stdout.readline().split()))


def await_state(processes, letter, seconds=20):
    since = time.monotonic()
    while any((process_state(process) == b"T") != (letter == b"T") for process in processes):
        assert time.monotonic() - since < seconds
        time.sleep(0.02)


@pytest.mark.slow
def test_a_stopped_rank_continues_in_time():
    process, ranks = job(REDUCTIONS, 8.0)
    os.kill(ranks[1], signal.SIGSTOP)
    time.sleep(3)
    os.kill(ranks[1], signal.SIGCONT)
    assert finish(process) == (0, "done\n", "")


@pytest.mark.slow
def test_ctrl_z_stops_and_continues_all():
    process, ranks = job(REDUCTIONS, 1.0)
    for _ in range(2):
        process.send_signal(signal.SIGTSTP)
        await_state([process.pid, *ranks], b"T")
        time.sleep(2.5)
        process.send_signal(signal.SIGCONT)
        await_state([process.pid, *ranks], b"S")
    assert finish(process) == (0, "done\n", "")


@pytest.mark.slow
def test_a_job_that_is_stopped_by_hand():
    """All ranks, but not their launcher."""
    process, ranks = job(REDUCTIONS, 1.0)
    for number in (signal.SIGSTOP, signal.SIGCONT):
        for rank in ranks:
            os.kill(rank, number)
        time.sleep(3)
    assert finish(process) == (0, "done\n", "")


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_job_gets_a_stop_request(number):
    process, ranks = job("time.sleep(60)", 1.0)
    process.send_signal(signal.SIGTSTP)
    await_state([process.pid, *ranks], b"T")
    process.send_signal(number)
    process.send_signal(signal.SIGCONT)
    finish(process)
    assert process.returncode != 0 and have_ended(ranks)
