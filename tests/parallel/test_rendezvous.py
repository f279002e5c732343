"""Ranks meet by environment variables: by hand, over TCP, with wrong keys, versions, attempts and addresses."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from multiprocessing import AuthenticationError

import numpy as np
import pytest

from gpukit import interrupt
from gpukit.errors import GpukitError, ParameterError
from gpukit.parallel import TeamError, heartbeat, rendezvous
from gpukit.parallel.current_team import open_team
from gpukit.parallel.rendezvous import make_rendezvous, read_environment
from parallel.test_commands import GPUKIT
from parallel.test_team import together

CODE = (
    "import sys, time; import numpy as np; from gpukit.parallel import heartbeat; heartbeat.PATIENCE = 2.0\n"
    "from gpukit.interrupt import heed; heed(); from gpukit.parallel.current_team import join_team\n"
    "try:\n"
    "    with join_team(None if not int(__import__('os').environ['GPUKIT_RANK']) else 2) as team:\n"
    "        print('joined', flush=True)\n"
    "        {work}\n"
    "except Exception as error: print(error); sys.exit(3)\n"
)
SUMS = "[(team.allreduce(np.ones(2)), time.sleep(0.01)) for _ in range(3000)]"


def free_address():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"127.0.0.1:{server.getsockname()[1]}"


def answers(*meetings):
    """Return the exception, or the sum of ones, of each rank."""
    results = [None] * len(meetings)

    def run(number):
        try:
            with open_team(meetings[number]) as team:
                results[number] = float(team.allreduce(np.ones(1))[0])
        except GpukitError as error:
            results[number] = error

    threads = [threading.Thread(target=run, args=(number,)) for number in range(len(meetings))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(40)
    assert not any(thread.is_alive() for thread in threads)
    return results


def two(address=None, **changes):
    """Return the Rendezvous of two ranks; that of rank 1 differs."""
    first = make_rendezvous(2, address)._replace(seconds=1.0)
    return first, first._replace(rank=1, **changes)


@pytest.mark.parametrize("size", [2, 4])
def test_ranks_meet_over_tcp(size):
    assert together(size, lambda team: float(team.allreduce(np.ones(1))[0]), free_address()) == [float(size)] * size


def test_the_environment_of_a_rank(monkeypatch):
    meeting = make_rendezvous(3, "host:5", job="a", attempt=2, seconds=60)
    for name, value in meeting.environment(1).items():
        monkeypatch.setenv(name, value)
    assert read_environment() == meeting._replace(rank=1)
    monkeypatch.setenv("GPUKIT_KEY", "")
    with pytest.raises(ParameterError, match="GPUKIT_KEY=secret"):
        read_environment()


def test_keys_are_random():
    assert make_rendezvous(2).key != make_rendezvous(2).key and len(make_rendezvous(2).key) == 32


def test_another_key():
    first, second = answers(*two(key="other"))
    assert "Rank 1 has not joined" in str(first) and "another GPUKIT_KEY" in str(first)
    assert "has another GPUKIT_KEY than rank 1" in str(second) and second.exit_code == 2


@pytest.mark.parametrize("changes", [{"attempt": 1}, {"job": "b"}, {"size": 3}], ids=str)
def test_a_rank_of_another_start(changes):
    errors = answers(*two(**changes))
    assert all("Rank 0 belongs to attempt 0 of job '' with 2 ranks, rank 1 to " in str(error) for error in errors), (
        errors
    )
    assert all(error.exit_code == 2 for error in errors)


def test_another_version(monkeypatch):
    versions = iter(["0.1", "0.2"])
    monkeypatch.setattr(rendezvous.metadata, "version", lambda name: next(versions) if name == "numba" else "1")
    errors = answers(*two(free_address()))
    assert (
        len({str(error) for error in errors}) == 1 and "numba 0.1" in str(errors[0]) and "numba 0.2" in str(errors[0])
    )


def test_two_processes_of_one_rank():
    first = make_rendezvous(3)
    errors = answers(first, first._replace(rank=1), first._replace(rank=1))
    assert all("Two processes are rank 1" in str(error) for error in errors), errors


def test_a_rank_that_does_not_come():
    """The others say which one."""
    first = make_rendezvous(3, free_address())._replace(seconds=0.5)
    errors = answers(first, first._replace(rank=2))
    assert all(str(error).startswith("Rank 1 has not joined rank 0 at 127.0.0.1:") for error in errors), errors


@pytest.mark.parametrize("address", ["127.0.0.1:1", "@gpukit-nobody"])
def test_an_address_without_rank_0(address):
    with pytest.raises(TeamError, match=f"Rank 1 on {socket.gethostname()} does not reach {address} "):
        open_team(make_rendezvous(2, address)._replace(rank=1, seconds=0.2))


@pytest.mark.parametrize("address", ["nowhere.invalid:5", "host", "127.0.0.1:x"])
def test_an_address_that_is_none(address):
    with pytest.raises(ParameterError, match=f"GPUKIT_ADDRESS={address} "):
        open_team(make_rendezvous(2, address))


def test_a_host_that_does_not_answer(monkeypatch):
    """Its packets are dropped, as a full queue does: the wait for it is limited, however late ranks may start."""
    monkeypatch.setattr(rendezvous, "START_SECONDS", 0.5)
    with socket.create_server(("127.0.0.1", 0), backlog=0) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        waiting = [socket.socket() for _ in range(4)]
        for end in waiting:
            end.setblocking(False)
            end.connect_ex(server.getsockname())
        start = time.monotonic()
        with pytest.raises(TeamError, match=f"does not reach {address} \\(timed out\\)"):
            open_team(make_rendezvous(2, address)._replace(rank=1, seconds=100.0))
        assert time.monotonic() - start < 20
        for end in waiting:
            end.close()


def test_strangers_do_not_end_the_ranks(monkeypatch):
    """What connects and is no rank is refused, also one that stays silent, and the ranks meet."""
    monkeypatch.setattr(rendezvous, "ANSWER_SECONDS", 0.3)
    first, second = two(free_address())
    host, port = first.address.split(":")
    ends = []

    def disturb():
        for data in (b"GET / HTTP/1.1\r\n\r\n", b"", b"\0\0\0\1x", b""):
            for _ in range(100):
                try:
                    ends.append(socket.create_connection((host, int(port))))
                    ends[-1].sendall(data)
                    time.sleep(0.1)
                    break
                except ConnectionRefusedError:
                    time.sleep(0.01)
            if len(ends) < 4:  # the last one stays
                ends[-1].close()

    thread = threading.Thread(target=disturb)
    thread.start()
    late = threading.Timer(0.5, lambda: results.extend(answers(second)))
    results = []
    late.start()
    assert answers(first._replace(seconds=10.0)) == [2.0]
    thread.join()
    late.join()
    ends[-1].close()
    assert results == [2.0]


def test_a_rank_that_is_started_again_by_itself():
    """Some engines start a lost task again: it is refused while the others run."""
    first, second = two()

    def work(team):
        if team.rank == 0:
            with pytest.raises(TeamError, match="have begun without this one"):
                rendezvous.meet(second)
        team.barrier()

    results = [None, None]

    def run(meeting):
        with open_team(meeting) as team:
            results[team.rank] = work(team) is None

    threads = [threading.Thread(target=run, args=(meeting,)) for meeting in (first, second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert results == [True, True]


def test_nothing_is_unpickled():
    for module in (rendezvous, heartbeat):
        text = open(module.__file__).read()
        assert "pickle" not in text.replace("unpickled", "") and ".recv()" not in text and ".send(" not in text


def test_a_key_is_proved_by_both_sides():
    one, other = socket.socketpair()
    thread = threading.Thread(target=lambda: rendezvous.FAULTS and refuse_quietly(other))
    thread.start()
    with pytest.raises(AuthenticationError):
        rendezvous.prove_key(one, "a", (rendezvous.deliver_challenge, rendezvous.answer_challenge))
    one.close()
    thread.join(10)


def refuse_quietly(end):
    with pytest.raises(rendezvous.FAULTS):
        rendezvous.prove_key(end, "b", (rendezvous.answer_challenge, rendezvous.deliver_challenge))
    end.close()


def by_hand(work, size=2):
    """Start ranks as SLURM, Ray and Spark do: a process each, with environment variables."""
    meeting = make_rendezvous(size, free_address())
    words = [sys.executable, "-P", "-c", CODE.format(work=work)]
    return [
        subprocess.Popen(
            words,
            env={**os.environ, **meeting.environment(rank)},
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for rank in range(size)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("victim", [0, 1])
@pytest.mark.parametrize("number", [signal.SIGSTOP, signal.SIGKILL])
def test_a_lost_rank_ends_the_others(victim, number):
    """Stopped or killed: the others end with its number, within 30 s."""
    ranks = by_hand(SUMS, 3)
    for rank in ranks:
        assert rank.stdout.readline() == "joined\n"
    since = time.monotonic()
    ranks[victim].send_signal(number)
    others = [rank.communicate(timeout=30) for number, rank in enumerate(ranks) if number != victim]
    ranks[victim].send_signal(signal.SIGCONT)  # as mpiexec does before SIGTERM
    out, _ = ranks[victim].communicate(timeout=20)
    assert time.monotonic() - since < 30
    assert ranks[victim].returncode != 0 and "has ended" not in out  # the others have reported its silence
    seen = (
        f"Rank {victim} has ended" if number == signal.SIGKILL else f"Rank {victim} on {socket.gethostname()} has been"
    )
    assert all(seen in out for out, _ in others), others
    assert [err.count(seen) for _, err in others] == [int(victim == 0), 0]


@pytest.mark.slow
def test_a_rank_that_computes_without_waiting_is_ended():
    """Its main thread does not look for messages; the heartbeat interrupts it."""
    ranks = by_hand("time.sleep(60) if team.rank == 0 else sys.exit(7)")
    (out, _), _ = [rank.communicate(timeout=30) for rank in ranks]
    assert ranks[0].returncode != 0 and ranks[1].returncode == 7


@pytest.mark.slow
def test_a_rank_that_cannot_be_interrupted_is_ended():
    """As in a call that waits on a GPU; the heartbeat prints the reason."""
    ranks = by_hand("team.rank == 1 and sys.exit(7); import signal; signal.signal(15, 1); time.sleep(60)")
    since = time.monotonic()
    (_, err), _ = [rank.communicate(timeout=30) for rank in ranks]
    assert ranks[0].returncode == 1 and err == "Error: SystemExit: 7\n" and time.monotonic() - since < 30


@pytest.mark.slow
def test_a_command_that_does_not_reach_rank_0(root):
    """It says so itself, because rank 0 cannot."""
    meeting = make_rendezvous(2, "127.0.0.1:1", seconds=1)
    words = [*GPUKIT, "ranksvm", str(root / "data/letor-sample"), "--fold", "1", "--device", "cpu"]
    environment = {**os.environ, **meeting.environment(1)}
    result = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=60)
    assert result.returncode == 1 and result.stdout == "" and result.stderr.count("\n") == 1
    assert result.stderr.startswith(f"Error: Rank 1 on {socket.gethostname()} does not reach 127.0.0.1:1")


@pytest.mark.slow
def test_a_stopped_rank_continues_in_time():
    ranks = by_hand(SUMS.replace("3000", "200"))
    assert ranks[1].stdout.readline() == "joined\n"
    ranks[1].send_signal(signal.SIGSTOP)
    time.sleep(1.0)
    ranks[1].send_signal(signal.SIGCONT)
    assert [rank.wait(30) for rank in ranks] == [0, 0]


@pytest.mark.slow
def test_a_job_that_is_stopped_as_a_whole():
    ranks = by_hand(SUMS.replace("3000", "200"))
    for rank in ranks:
        assert rank.stdout.readline() == "joined\n"
    for number in (signal.SIGSTOP, signal.SIGCONT):
        for rank in ranks:
            rank.send_signal(number)
        time.sleep(4)
    assert [rank.wait(30) for rank in ranks] == [0, 0]


def test_a_stop_request_while_ranks_connect_reaches_the_others(monkeypatch):
    """The rank is known to the others already, and could not tell them before all connections are made."""
    first, heard = make_rendezvous(2, free_address()), []
    connect_all = rendezvous.connect_all

    def connect(meeting, peers):
        if meeting.rank:
            signal.raise_signal(signal.SIGINT)
        return connect_all(meeting, peers)

    def wait():
        with pytest.raises(interrupt.Interrupted), open_team(first) as team:
            team.barrier()
        heard.append(True)

    monkeypatch.setattr(rendezvous, "connect_all", connect)
    other = threading.Thread(target=wait)
    other.start()
    with pytest.raises(KeyboardInterrupt):
        open_team(first._replace(rank=1))
    other.join(30)
    assert heard == [True]


def test_a_stop_request_before_a_rank_has_introduced_itself(monkeypatch):
    """Its first message to rank 0 is then the request."""
    first, heard = make_rendezvous(2, free_address()), []

    def describe(meeting, address):
        raise interrupt.Interrupted(signal.SIGTERM)

    def wait():
        with pytest.raises(interrupt.Interrupted) as stop:
            open_team(first)
        heard.append(stop.value.number)

    own = threading.Thread(target=wait)
    monkeypatch.setattr(rendezvous, "describe", lambda *at: describe(*at) if at[0].rank else {"rank": 0})
    own.start()
    with pytest.raises(interrupt.Interrupted):
        open_team(first._replace(rank=1))
    own.join(30)
    assert heard == [signal.SIGTERM]
