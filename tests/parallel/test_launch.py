"""Ranks as processes: exit codes, signals, killed ranks, no process left behind."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gpukit.parallel import TeamError
from gpukit.parallel.launch import END_SECONDS, LAST_SECONDS, RANK_ENDED, end_ranks, launch

START = "import sys; from gpukit.parallel.launch import launch; sys.exit(launch([], {size}, command={command!r}))"
FEW, MANY = (f"from gpukit.parallel import sockets; sockets.cores = lambda: {count}; " for count in (1, 64))
JOIN = (
    "import os, sys, time; import numpy as np; from gpukit.parallel.current_team import join_team; team = join_team(); "
)


def start(command, size=3, before=""):
    """Start a process that launches ranks of Python code; before: of a rank before it joins."""
    code = START.format(size=size, command=before + JOIN + command)
    words, pipes = [sys.executable, "-P", "-c", code], dict.fromkeys(("stdout", "stderr"), subprocess.PIPE)
    return subprocess.Popen(words, text=True, process_group=0, **pipes)


def finish(process, seconds=60):
    """Return (exit code, standard output, standard error)."""
    out, err = process.communicate(timeout=seconds)
    return process.returncode, out, err


def alive(number):
    try:
        os.kill(number, 0)
        return True
    except ProcessLookupError:
        return False


def have_ended(numbers, seconds=20):
    """Return True if all processes end within `seconds`."""
    start = time.monotonic()
    while time.monotonic() - start < seconds and any(map(alive, numbers)):
        time.sleep(0.05)
    return not any(map(alive, numbers))


SLEEP = "time.sleep(60)"
PRINT_PIDS = "print(*np.concatenate(team.allgather(np.array([os.getpid()]))), flush=True); "


@pytest.mark.slow
def test_only_rank_0_has_output():
    code, out, err = finish(start("print(team.allreduce(np.array([team.rank + 1]))[0]); sys.stderr.write('here')"))
    assert (code, out, err) == (0, "6\n", "here")


ROUNDS = (
    "pass\n"
    "for turn in range(400):\n"
    "    array = np.full(1 + 997 * turn % 4000, turn, np.float64)\n"
    "    assert (team.allreduce(array) == 3 * turn).all() and (team.allgather(array)[team.rank - 1] == turn).all()\n"
    "    time.sleep(0.003 if turn % 40 == 13 * team.rank else 0)\n"
)


@pytest.mark.slow
@pytest.mark.parametrize("cores", [FEW, MANY], ids=["sleep", "poll"])
def test_short_and_long_messages_of_ranks(cores):
    """8 to 32,000 bytes, to polling and sleeping ranks."""
    code, out, err = finish(start(ROUNDS, before=cores))
    assert (code, out, err) == (0, "", "")


@pytest.mark.slow
@pytest.mark.parametrize("waiting", [0, 0.5])
def test_a_killed_rank_is_noticed(waiting):
    """By a polling rank and by a sleeping one."""
    command = f"team.barrier(); team.rank == 1 and (time.sleep({waiting}), os.kill(os.getpid(), 9)); team.barrier()"
    start_time = time.monotonic()
    code, out, err = finish(start(command, before=MANY))
    assert code == 1 and "Rank 1 has ended before the computation was complete" in err
    assert time.monotonic() - start_time < 20


@pytest.mark.slow
def test_a_rank_gets_a_stop_request_before_it_has_joined(tmp_path):
    """The others get the request and do not report the rank as killed."""
    (tmp_path / "r.csv").write_text("1,2,3\n2,2,4\n2,1,5\n")
    command = (
        "import os, signal; from gpukit.cli import main, process\n"
        "first = os.environ['GPUKIT_RANK'] == '0'\n"
        "main.check_limit = lambda: first or signal.raise_signal(signal.SIGTERM)\nprocess.main()\n"
    )
    words = ["train-lshmf", str(tmp_path / "r.csv"), "--device", "cpu", "-q"]
    code = (  # the launcher may notice the request before rank 0 has ended
        "import sys; from gpukit.parallel.launch import launch\n"
        f"try: sys.exit(launch({words}, 2, command={command!r}))\n"
        "except KeyboardInterrupt as stop: sys.exit(128 + stop.number if stop.reported else 'not reported')\n"
    )
    result = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, timeout=60)
    assert result.returncode == 143 and result.stderr == "Interrupted. No file was left half written.\n", result.stderr


@pytest.mark.slow
def test_a_rank_fails_after_rank_0_has_ended():
    code, _, err = finish(start("team.rank and (time.sleep(1), sys.exit(4))", size=2))
    assert code == 4 and err == "Error: rank 1 has failed (exit code 4) after rank 0 has ended.\n"


def test_a_command_that_cannot_be_started():
    """The message does not advise fewer ranks."""
    with pytest.raises(TeamError) as raised:
        launch(["x" * (1 << 22)], 2, command="pass")
    assert str(raised.value) == "2 ranks cannot be started here (Argument list too long)."


@pytest.mark.slow
@pytest.mark.parametrize("rank", [0, 1])
def test_the_exit_code_of_the_rank_that_fails(rank):
    code, _, _ = finish(start(f"sys.exit(5 if team.rank == {rank} else 0)"))
    assert code == 5


@pytest.mark.slow
@pytest.mark.parametrize("rank", [0, 2])
def test_a_killed_rank_ends_all(rank):
    process = start(PRINT_PIDS + "team.broadcast(root=1) if team.rank != 1 else time.sleep(60)")
    numbers = list(map(int, process.stdout.readline().split()))
    os.kill(numbers[rank], signal.SIGKILL)
    code, _, err = finish(process)
    assert code == 1 and have_ended(numbers)
    assert err.count("rank 0 was ended by signal 9") == (rank == 0)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stop_request_reaches_all(number):
    process = start(PRINT_PIDS + "time.sleep(60)")
    numbers = list(map(int, process.stdout.readline().split()))
    assert len(numbers) == 3
    os.killpg(process.pid, number)  # as a terminal sends Ctrl-C
    finish(process)
    assert process.returncode != 0 and have_ended(numbers)


@pytest.mark.slow
def test_ranks_get_ctrl_c_from_the_launcher_alone():
    """As SIGTERM, although a terminal sends SIGINT to all."""
    command = f"interrupt.heed()\ntry: {PRINT_PIDS}time.sleep(60)\n"
    command += "except KeyboardInterrupt as stop: print(stop.number, flush=True)"
    process = start(command, before="from gpukit import interrupt; ")
    process.stdout.readline()
    os.killpg(process.pid, signal.SIGINT)
    assert finish(process)[1] == f"{int(signal.SIGTERM)}\n"


CATCH = (
    "from gpukit.parallel.launch import launch\n"
    "try: launch([], 3, command={!r})\n"
    "except KeyboardInterrupt as stop: print(stop.number, stop.reported)\n"
)


@pytest.mark.slow
@pytest.mark.parametrize("number, rank", [(signal.SIGINT, 0), (signal.SIGTERM, 1), (signal.SIGHUP, 1)])
def test_one_rank_gets_a_stop_request(rank, number):
    """It ends with the exit code of a stop; the launcher forwards the request to the others."""
    command = f"team.rank == {rank} and sys.exit({128 + number}); interrupt.heed()\n"
    command += "try: time.sleep(60)\nexcept KeyboardInterrupt as stop: sys.exit(interrupt.exit_code(stop))\n"
    code = CATCH.format("from gpukit import interrupt; " + JOIN + command)
    start_time = time.monotonic()
    result = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, timeout=60)
    assert result.stdout == f"{int(number)} True\n" and time.monotonic() - start_time < 40, result.stderr


@pytest.mark.slow
def test_a_stop_request_while_ranks_start():
    """Ranks print nothing."""
    process = start("pass")
    start_time = time.monotonic()
    while not Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().strip():
        assert time.monotonic() - start_time < 60
    os.killpg(process.pid, signal.SIGINT)
    _, _, err = finish(process)
    assert process.returncode != 0 and err.count("Traceback") <= 1 and "Fatal" not in err, err  # of the launcher


@pytest.mark.slow
def test_ranks_end_when_the_launcher_is_killed():
    process = start(PRINT_PIDS + "time.sleep(60)")
    numbers = list(map(int, process.stdout.readline().split()))
    process.kill()
    assert have_ended(numbers)
    process.communicate(timeout=20)


@pytest.mark.slow
def test_ranks_end_when_the_launcher_is_killed_before_they_join():
    late = "import os, time; print(os.getpid(), flush=True); time.sleep(1.5); " + JOIN
    code = START.format(size=1, command=late + SLEEP)
    process = subprocess.Popen([sys.executable, "-P", "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    number = int(process.stdout.readline())
    process.kill()
    assert have_ended([number])
    process.communicate(timeout=20)


def test_a_stop_request_at_the_start_of_a_rank_leaves_no_process(monkeypatch):
    """It arrives when the process runs, and before the launcher has it in its list."""
    ranks, plain = [], subprocess.Popen

    def start_and_interrupt(*words, **named):
        ranks.append(plain(*words, **named))
        os.kill(os.getpid(), signal.SIGINT)
        return ranks[-1]

    monkeypatch.setattr(subprocess, "Popen", start_and_interrupt)
    try:
        with pytest.raises(KeyboardInterrupt):
            launch([], 2, command=f"import time; {SLEEP}")
        assert [rank.poll() for rank in ranks] == [-signal.SIGTERM]
    finally:
        for rank in ranks:
            rank.kill()


@pytest.mark.slow
def test_a_second_stop_request_leaves_no_process():
    """Ranks end slowly."""
    slow = "import signal; signal.signal(signal.SIGTERM, lambda *_: time.sleep(7) or sys.exit(1)); "
    ranks = START.format(size=2, command=JOIN + slow + PRINT_PIDS + SLEEP)
    code = "from gpukit import interrupt; interrupt.heed(); " + ranks
    process = subprocess.Popen([sys.executable, "-P", "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    numbers = list(map(int, process.stdout.readline().split()))
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode != 0 and not any(map(alive, numbers))


class StoppedRank:
    """A process that SIGSTOP has stopped."""

    def __init__(self):
        self.signals, self.seconds, self.killed = [], [], False

    def poll(self):
        return None

    def send_signal(self, number):
        self.signals.append(number)

    def kill(self):
        self.killed = True

    def wait(self, timeout=None):
        if not self.killed:
            self.seconds.append(timeout)
            raise subprocess.TimeoutExpired("rank", timeout)


@pytest.mark.parametrize("number, most", [(RANK_ENDED, LAST_SECONDS), (signal.SIGTERM, END_SECONDS)])
def test_stopped_ranks_are_killed_sooner_after_a_failure(number, most):
    """Before that they had END_SECONDS to end by themselves."""
    rank = StoppedRank()
    assert end_ranks([rank], number) == [rank] and rank.killed and rank.signals[0] == number
    assert 0.9 * most < rank.seconds[0] <= most and LAST_SECONDS < END_SECONDS
