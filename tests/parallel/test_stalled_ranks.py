"""Ranks that are stopped: the others end, with one line; those that go on in time, or were stopped together, do not."""

import os
import signal
import socket
import subprocess
import sys
import time

import pytest

from gpukit.parallel import stalled_ranks
from gpukit.parallel.stalled_ranks import StoppedError, Waited, Watch, beside, place, state
from parallel.test_commands import mpiexec, started
from parallel.test_faults import endless, gone, inputs, offspring  # noqa: F401 (a fixture)
from parallel.test_launch import JOIN, START, TELL, finish

SOON = "import gpukit.parallel.stalled_ranks as stalled_ranks; stalled_ranks.PATIENCE = {}; "
HEED = "from gpukit import interrupt; interrupt.heed(); "
HASTE = SOON.format(2.0) + "import gpukit.parallel.mpi as mpi; mpi.GRACE = 3.0; "
MAIN = "from gpukit.cli.process import main; main()"
COMMAND = [sys.executable, "-P", "-c", HASTE + MAIN]
MARKED = (
    "import itertools, os, pathlib; at, send = itertools.count(), mpi.Messages.send; "
    "mark = lambda team: next(at) == 50 and pathlib.Path(os.environ['AT_WORK'], str(team.rank)).touch(); "
    "mpi.Messages.send = lambda team, rank, data: (mark(team), send(team, rank, data))[1]; "
)  # a rank says so once it is at work, whatever it has to compile before
TOGETHER = "[(team.allreduce(np.ones(2)), time.sleep(0.01)) for _ in range(200)]; print('done' * (team.rank == 0))"


class Clock:
    """Processes whose states a test sets, at a time that it sets."""

    def __init__(self, monkeypatch, states):
        self.states, self.now = states, 100.0
        monkeypatch.setattr(stalled_ranks, "state", lambda process: self.states[process])
        monkeypatch.setattr(stalled_ranks.time, "monotonic", lambda: self.now)

    def pass_by(self, watch, seconds, step=0.5):
        """Whom the watch finds within so many seconds, None: nobody."""
        for _ in range(int(seconds / step)):
            self.now += step
            try:
                watch.check()
            except StoppedError:
                return watch.found[0]
        return None


@pytest.fixture
def clock(monkeypatch):
    return Clock(monkeypatch, {11: b"R", 12: b"S", 13: b"S"})


def watch():
    return Watch({0: 11, 1: 12, 2: 13}, 10.0)


def test_who_is_stopped_too_long(clock):
    watching = watch()
    assert clock.pass_by(watching, 60) is None
    clock.states[12] = b"T"
    assert clock.pass_by(watching, 9.5) is None
    assert clock.pass_by(watching, 3) == 1


def test_who_goes_on_in_time(clock):
    watching = watch()
    for _ in range(5):
        clock.states[12] = b"T"
        assert clock.pass_by(watching, 9) is None
        clock.states[12] = b"S"
        assert clock.pass_by(watching, 1.5) is None


def test_a_job_that_is_stopped_as_a_whole(clock):
    """However long, and when its processes go on one by one; one that has ended is not at work."""
    watching, clock.states = watch(), {11: b"T", 12: b"T", 13: b"Z"}
    assert clock.pass_by(watching, 60) is None
    clock.states[11] = b"S"
    assert clock.pass_by(watching, 8) is None
    clock.states[12] = b"S"
    assert clock.pass_by(watching, 60) is None


def test_who_looks_was_stopped_itself(clock):
    """Ranks were stopped with it, and go on after it."""
    watching, clock.states[12] = watch(), b"T"
    assert clock.pass_by(watching, 2) is None
    clock.now += 60
    assert clock.pass_by(watching, 8) is None
    clock.states[12] = b"S"
    assert clock.pass_by(watching, 60) is None


def test_waiting_does_not_count_while_stopped(clock):
    waited = Waited()
    for _ in range(20):
        clock.now += 0.25
        assert waited.seconds() <= 5.0
    assert waited.seconds() == 5.0
    clock.now += 1000
    assert waited.seconds() == 6.0


def test_who_may_be_looked_at():
    own, number = place()
    assert number == os.getpid() and own
    assert beside([(own, 5), ("another host", 6), ("", 7), (own, 8)]) == {0: 5, 3: 8}
    assert state(number) in (b"R", b"S") and state(2**22 + 1) == b""


def begin(words, before=(), command=COMMAND, **settings):
    """The process of a command on the CPU whose ranks may be stopped for two seconds; settings: of its environment."""
    words = [*before, *command, *map(str, words), "--device", "cpu", "--quiet"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(words, **pipes, env={**os.environ, **settings})


@pytest.mark.slow
@pytest.mark.parametrize(
    "what, victim",
    [
        ("training", 0),
        ("imputation", 1),
        pytest.param("training", 1, marks=pytest.mark.nightly),
        pytest.param("imputation", 0, marks=pytest.mark.nightly),
    ],
)
def test_a_stopped_rank_ends_the_command(inputs, tmp_path, what, victim):  # noqa: F811
    process = begin((*endless(what, inputs, tmp_path / "out.npz"), "--ranks", 2))
    ranks = started(process, 2)
    time.sleep(4)
    begun = time.monotonic()
    os.kill(ranks[victim], signal.SIGSTOP)
    out, err = process.communicate(timeout=60)
    assert 2 <= time.monotonic() - begun < 15
    assert process.returncode == 1 and out == "" and err.count("\n") == 1, err
    assert err.startswith(f"Error: Rank {victim} on {socket.gethostname()} has been stopped for 2 s"), err
    assert gone(ranks, 0)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "victim", [pytest.param(0, marks=pytest.mark.slow), pytest.param(1, marks=pytest.mark.nightly)]
)
def test_a_stopped_rank_of_mpiexec(inputs, tmp_path, tmp_path_factory, victim):  # noqa: F811
    """What mpiexec says besides is its own."""
    marks, command = tmp_path_factory.mktemp("marks"), [sys.executable, "-P", "-c", HASTE + MARKED + MAIN]
    process = begin(endless("training", inputs, tmp_path / "out.npz"), mpiexec(), command, AT_WORK=str(marks))
    begun = time.monotonic()
    while len(list(marks.iterdir())) < 2:
        assert time.monotonic() - begun < 120 and process.poll() is None
        time.sleep(0.05)
    ranks, begun = offspring(process.pid), time.monotonic()
    os.kill(ranks[victim], signal.SIGSTOP)
    _, err = process.communicate(timeout=60)
    assert time.monotonic() - begun < 30
    assert process.returncode != 0 and "Traceback" not in err and err.count("Error: ") == 1, err
    assert f"Error: Rank {victim} on {socket.gethostname()} has been stopped for 2 s" in err, err
    assert gone(ranks)
    assert list(tmp_path.iterdir()) == []


def job(command, seconds):
    """(process, numbers of its ranks) of two ranks that work together, as a shell starts it."""
    code = HEED + SOON.format(seconds) + START.format(size=2, command=JOIN + TELL + command)
    words = [sys.executable, "-P", "-c", code]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, process_group=0)
    return process, list(map(int, process.stdout.readline().split()))


def await_state(processes, letter, seconds=20):
    begun = time.monotonic()
    while any((state(process) == b"T") != (letter == b"T") for process in processes):
        assert time.monotonic() - begun < seconds
        time.sleep(0.02)


@pytest.mark.slow
def test_a_rank_that_goes_on_in_time():
    process, ranks = job(TOGETHER, 8.0)
    os.kill(ranks[1], signal.SIGSTOP)
    time.sleep(3)
    os.kill(ranks[1], signal.SIGCONT)
    assert finish(process) == (0, "done\n", "")


@pytest.mark.slow
def test_ctrl_z_stops_all_and_all_go_on():
    process, ranks = job(TOGETHER, 1.0)
    for _ in range(2):
        process.send_signal(signal.SIGTSTP)
        await_state([process.pid, *ranks], b"T")
        time.sleep(2.5)
        process.send_signal(signal.SIGCONT)
        await_state([process.pid, *ranks], b"S")
    assert finish(process) == (0, "done\n", "")


@pytest.mark.slow
def test_a_job_that_is_stopped_by_hand():
    """All ranks, but not who has started them."""
    process, ranks = job(TOGETHER, 1.0)
    for number in (signal.SIGSTOP, signal.SIGCONT):
        for rank in ranks:
            os.kill(rank, number)
        time.sleep(3)
    assert finish(process) == (0, "done\n", "")


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_job_is_asked_to_end(number):
    process, ranks = job("time.sleep(60)", 1.0)
    process.send_signal(signal.SIGTSTP)
    await_state([process.pid, *ranks], b"T")
    process.send_signal(number)
    process.send_signal(signal.SIGCONT)
    finish(process)
    assert process.returncode != 0 and gone(ranks)
