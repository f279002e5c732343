"""The start and the end of MPI: ranks that are stopped, or do not come, end all with one line; who is late does not."""

import os
import signal
import socket
import subprocess
import sys
import time

import pytest

from gpukit.parallel import mpi_init
from gpukit.runtime.launcher_env import RANK_VARIABLES
from parallel.test_commands import mpiexec
from parallel.test_faults import gone, offspring
from parallel.test_stalled_ranks import SOON

JOIN = "from gpukit.parallel.current_team import joined; team = joined(); team.barrier(); team.rank or print('done')\n"
OWN = "import os, time; own = int(os.environ['OMPI_COMM_WORLD_RANK'])\n"
STOP = "own == {} and os.kill(os.getpid(), 19)\n"


def begin(code):
    """The process of mpiexec of two ranks that run some code, and may be stopped for two seconds."""
    words = [*mpiexec(), sys.executable, "-P", "-c", SOON.format(2.0) + OWN + code]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(process, seconds=60):
    """(exit code, standard output, standard error); none of its processes is left."""
    ranks, since = [], time.monotonic()
    while len(ranks) < 2 and process.poll() is None and time.monotonic() - since < 20:
        ranks = offspring(process.pid)
    try:
        out, err = process.communicate(timeout=seconds)
    finally:
        for rank in [] if process.poll() is not None else [process.pid, *ranks]:
            os.kill(rank, signal.SIGKILL)
    assert gone(ranks)
    return process.returncode, out, err


@pytest.mark.slow
def test_messages_longer_than_mpi_counts():
    """They go in parts; MPI's own errors are ours."""
    code = (
        "import numpy as np; from gpukit.parallel import TeamError, mpi; mpi.PIECE = 40\n"
        "from gpukit.parallel.current_team import joined\n"
        "with joined() as team:\n"
        "    for n in [*range(60), 1000]:\n"
        "        got = team.allgather(np.arange(n + team.rank, dtype=np.uint8))\n"
        "        assert len(got[0]) == n and (got[1] == np.arange(n + 1, dtype=np.uint8)).all()\n"
        "    try: team.messages.send(5, b'nobody')\n"
        "    except TeamError as error: team.rank or print(error)\n"
    )
    code, out, err = finish(begin(code))
    assert code == 0 and err == "" and out.startswith("MPI does not reach rank 5: ") and out.count("\n") == 1, err


@pytest.mark.slow
def test_long_messages_are_read_where_they_stay():
    """Who reads one needs no more memory than its own, and short ones that come behind it are others."""
    code = (
        "import numpy as np, tracemalloc; from gpukit.parallel import mpi; mpi.PIECE = 1 << 20\n"
        "from gpukit.parallel.current_team import joined\n"
        "with joined() as team:\n"
        "    long, short = np.arange(10_000_000), np.arange(3)\n"
        "    if team.rank:\n"
        "        for array in (short, long, short, long[:200_000]): team.send(0, array)\n"
        "    else:\n"
        "        assert (team.receive(1) == short).all()\n"
        "        tracemalloc.start(); got = team.receive(1); peak = tracemalloc.get_traced_memory()[1]\n"
        "        assert (got == long).all() and peak < 1.2 * long.nbytes, peak\n"
        "        assert (team.receive(1) == short).all() and (team.receive(1) == long[:200_000]).all()\n"
    )
    code, _, err = finish(begin(code))
    assert code == 0 and err == "", err


@pytest.mark.slow
def test_a_rank_is_stopped_in_the_midst_of_a_long_message(monkeypatch):
    """Who leaves drops what comes, and does not wait for it."""
    monkeypatch.setenv("OMPI_MCA_btl", "tcp,self")  # as between hosts: the sender must be there until all is taken
    code = (
        "import numpy as np, time; from gpukit.errors import DataError\n"
        "from gpukit.parallel.current_team import joined\n"
        "with joined() as team:\n"
        "    if team.rank: team.send(0, np.zeros(1 << 23)); os.kill(os.getpid(), 19)\n"
        "    time.sleep(1); raise DataError('so it is')\n"
    )
    code, _, err = finish(begin(code))
    assert code != 0 and "Traceback" in err and "so it is" in err


@pytest.mark.slow
@pytest.mark.parametrize("rank", [0, 1])
def test_a_rank_fails_and_others_have_sent_it_much(rank):
    """What it has not read it takes all the same, and drops: else nobody could leave."""
    code = (
        "import numpy as np, sys; from gpukit.errors import DataError\n"
        "from gpukit.parallel.current_team import joined\n"
        "try:\n    with joined() as team:\n"
        f"        if team.rank == {rank}: raise DataError('so it is')\n"
        f"        team.send({rank}, np.zeros(1 << 23)); team.receive({rank})\n"
        f"except DataError as error: sys.exit(3)\n"
        "except Exception as error: print(error, type(error).__name__); sys.exit(3)\n"
    )
    code, out, err = finish(begin(code))
    assert (code, out) == (3, "so it is TeamError\n"), err


@pytest.mark.slow
@pytest.mark.parametrize("victim", [0, 1])
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_rank_is_stopped_where_mpi_waits(victim, when):
    """Before MPI has started, and when the work is done."""
    code, out, err = finish(begin(STOP.format(victim) + JOIN if when == "before" else JOIN + STOP.format(victim)))
    told = f"Error: Rank {victim} on {socket.gethostname()} has been stopped for 2 s"
    assert code != 0 and err.count("Error: ") == 1 and told in err and "Traceback" not in err, err
    assert out == ("" if when == "before" else "done\n")


@pytest.mark.slow
def test_a_rank_that_does_not_come():
    """One line, though both wait for something."""
    limit = "import gpukit.parallel.sockets as sockets; sockets.SECONDS = 3.0\n"
    code, out, err = finish(begin(limit + "own == 1 and time.sleep(120)\n" + JOIN))
    assert code != 0 and out == "" and err.count("Error: MPI has not started on all ranks for 3 s.") == 1, err


@pytest.mark.slow
@pytest.mark.parametrize("late", ["time.sleep(4)", "os.system('(sleep 1; kill -CONT %d) &' % os.getpid())"])
def test_a_rank_that_comes_late(late):
    code, out, err = finish(begin(f"own == 1 and {late}\n" + STOP.format(1) * ("CONT" in late) + JOIN))
    assert (code, out) == (0, "done\n") and "Error" not in err, err


def test_ranks_of_the_same_job(monkeypatch):
    """Of what the process that has started this one has started, none are ranks of others, nor what is no rank."""
    monkeypatch.setattr(mpi_init.os, "getppid", os.getpid)
    for name in (*RANK_VARIABLES, *RANK_VARIABLES.values(), *mpi_init.JOB):
        monkeypatch.delenv(name, raising=False)
    job = {"PMIX_NAMESPACE": "a", "OMPI_COMM_WORLD_SIZE": "3", "OMPI_COMM_WORLD_RANK": "0"}
    others = [{**job, "OMPI_COMM_WORLD_RANK": "2"}, {**job, "OMPI_COMM_WORLD_RANK": "1", "PMIX_NAMESPACE": "b"}, {}]
    started = [subprocess.Popen(["sleep", "60"], env={**os.environ, **each}) for each in others]
    for name, value in job.items():
        monkeypatch.setenv(name, value)
    try:
        assert mpi_init.siblings() == {0: os.getpid(), 2: started[0].pid}
    finally:
        for each in started:
            each.kill()
            each.wait()
