"""Start and end of MPI with stopped, missing and late ranks."""

import os
import signal
import socket
import subprocess
import sys
import time

import pytest

from parallel.test_commands import mpiexec
from parallel.test_faults import have_ended, offspring

SET_PATIENCE = "import gpukit.parallel.heartbeat as heartbeat; heartbeat.PATIENCE = {}; "
JOIN = (
    "from gpukit.parallel.current_team import join_team; team = join_team(); team.barrier()\n"
    "team.rank or print('done')\n"
)
RANK = "import os, time; own = int(os.environ['OMPI_COMM_WORLD_RANK'])\n"
STOP = "own == {} and os.kill(os.getpid(), 19)\n"


def start(code):
    """Start mpiexec with two ranks that run code and may be stopped for two seconds."""
    words = [*mpiexec(), sys.executable, "-P", "-c", SET_PATIENCE.format(2.0) + RANK + code]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(process, seconds=60):
    """Return (exit code, standard output, standard error); check that no process is left."""
    ranks, since = [], time.monotonic()
    while len(ranks) < 2 and process.poll() is None and time.monotonic() - since < 20:
        ranks = offspring(process.pid)
    try:
        out, err = process.communicate(timeout=seconds)
    finally:
        for rank in [] if process.poll() is not None else [process.pid, *ranks]:
            os.kill(rank, signal.SIGKILL)
    assert have_ended(ranks)
    return process.returncode, out, err


@pytest.mark.slow
def test_messages_longer_than_an_mpi_count():
    """They are sent in parts, and MPI's errors are TeamErrors."""
    code = (
        "import numpy as np; from gpukit.parallel import TeamError, mpi; mpi.PART_BYTES = 40\n"
        "from gpukit.parallel.current_team import join_team\n"
        "with join_team() as team:\n"
        "    for n in [*range(60), 1000]:\n"
        "        got = team.allgather(np.arange(n + team.rank, dtype=np.uint8))\n"
        "        assert len(got[0]) == n and (got[1] == np.arange(n + 1, dtype=np.uint8)).all()\n"
        "    try: team.messages.send(5, b'nobody')\n"
        "    except TeamError as error: team.rank or print(error)\n"
    )
    code, out, err = finish(start(code))
    assert code == 0 and err == "" and out.startswith("MPI does not reach rank 5: ") and out.count("\n") == 1, err


@pytest.mark.slow
def test_long_messages_are_received_in_place():
    """Receiving one needs no second copy, and later short messages stay separate."""
    code = (
        "import numpy as np, tracemalloc; from gpukit.parallel import mpi; mpi.PART_BYTES = 1 << 20\n"
        "from gpukit.parallel.current_team import join_team\n"
        "with join_team() as team:\n"
        "    long, short = np.arange(10_000_000), np.arange(3)\n"
        "    if team.rank:\n"
        "        for array in (short, long, short, long[:200_000]): team.send(0, array)\n"
        "    else:\n"
        "        assert (team.receive(1) == short).all()\n"
        "        tracemalloc.start(); got = team.receive(1); peak = tracemalloc.get_traced_memory()[1]\n"
        "        assert (got == long).all() and peak < 1.2 * long.nbytes, peak\n"
        "        assert (team.receive(1) == short).all() and (team.receive(1) == long[:200_000]).all()\n"
    )
    code, _, err = finish(start(code))
    assert code == 0 and err == "", err


@pytest.mark.slow
def test_a_rank_is_stopped_while_it_sends_a_long_message(monkeypatch):
    """A rank that leaves discards the message and does not wait for it."""
    monkeypatch.setenv("OMPI_MCA_btl", "tcp,self")  # as between hosts: the sender must stay until the end
    code = (
        "import numpy as np, time; from gpukit.errors import DataError\n"
        "from gpukit.parallel.current_team import join_team\n"
        "with join_team() as team:\n"
        "    if team.rank: team.send(0, np.zeros(1 << 23)); os.kill(os.getpid(), 19)\n"
        "    time.sleep(1); raise DataError('bad data')\n"
    )
    code, _, err = finish(start(code))
    assert code != 0 and "Traceback" in err and "bad data" in err


@pytest.mark.slow
@pytest.mark.parametrize("rank", [0, 1])
def test_a_rank_fails_before_it_has_read_long_messages(rank):
    """It receives and discards them, because their senders cannot leave before."""
    code = (
        "import numpy as np, sys; from gpukit.errors import DataError\n"
        "from gpukit.parallel.current_team import join_team\n"
        "try:\n    with join_team() as team:\n"
        f"        if team.rank == {rank}: raise DataError('bad data')\n"
        f"        team.send({rank}, np.zeros(1 << 23)); team.receive({rank})\n"
        "except DataError as error: sys.exit(3)\n"
        "except Exception as error: print(error, type(error).__name__); sys.exit(3)\n"
    )
    code, out, err = finish(start(code))
    assert (code, out) == (3, "bad data TeamError\n"), err


@pytest.mark.slow
@pytest.mark.parametrize("victim", [0, 1])
def test_a_rank_is_stopped_after_the_computation(victim):
    """MPI's own end would wait for it."""
    code, out, err = finish(start(JOIN + STOP.format(victim)))
    assert code != 0 and err.count("Error: ") == 1 and "Traceback" not in err, err
    assert f"Error: Rank {victim} on {socket.gethostname()} has been silent for 2 s" in err and out == "done\n"


@pytest.mark.slow
@pytest.mark.parametrize("missing", [0, 1])
def test_a_missing_rank(missing, monkeypatch):
    """MPI's own start would wait for it; one line is printed."""
    monkeypatch.setenv("GPUKIT_START_SECONDS", "3")
    code, out, err = finish(start(f"own == {missing} and time.sleep(120)\n" + JOIN))
    assert code != 0 and out == "" and err.count("Error: MPI has not started on all ranks for 3 s") == 1, err


@pytest.mark.slow
@pytest.mark.parametrize("late", ["time.sleep(3)", "os.system('(sleep 1; kill -CONT %d) &' % os.getpid())"])
def test_a_late_rank(late):
    code, out, err = finish(start(f"own == 1 and {late}\n" + STOP.format(1) * ("CONT" in late) + JOIN))
    assert (code, out) == (0, "done\n") and "Error" not in err, err
