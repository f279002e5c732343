"""The Team that this process belongs to: that of the process that started it, of mpiexec or srun, or of nobody else."""

import contextlib
import ctypes
import os
import signal
import socket
import zlib
from importlib import metadata

import numpy as np

from gpukit._version import __version__
from gpukit.errors import DataError, ParameterError
from gpukit.parallel import mailbox, mpi, sockets
from gpukit.parallel.stalled_ranks import QUIET
from gpukit.parallel.team import ALONE, Team
from gpukit.runtime.launcher_env import ALONE_VARIABLE, TEAM_VARIABLE, launched_ranks

PARENT_ENDS = 1  # PR_SET_PDEATHSIG of prctl
PIECES, PIECE = 16, 1 << 18  # of a file, and their bytes, that tell it from another
LEFT = signal.SIGUSR1  # by which launch.py tells a rank that has not noticed that another one has ended
left_alone = []  # what is to be said of it, "" where nothing is


def joined(errors=None):
    """The Team of this process; ALONE for a process that was started by itself. errors: see mpi.Messages.

    Raises ParameterError where mpiexec or srun has started several and mpi4py is not installed, or MPI does not know of
    the others.
    """
    if TEAM_VARIABLE in os.environ:
        return of_launch(os.environ.pop(TEAM_VARIABLE))
    size, _ = launched_ranks()
    if size == 1:
        return ALONE
    try:
        messages = mpi.Messages(errors=errors)
    except ImportError as error:
        raise ParameterError(
            f"{size} ranks were started by mpiexec or srun, and mpi4py cannot be loaded ({error}). "
            "Install gpukit[mpi], or start one process with --ranks."
        ) from None
    if messages.size == 1:
        raise ParameterError(
            f"{size} ranks were started by mpiexec or srun, and MPI sees each of them alone, with all of the work. "
            "Start them by srun --mpi=pmix (srun --mpi=list tells which), or by the mpiexec of mpi4py's own MPI."
        )
    signal.signal(QUIET, _leave)
    return Team(messages)


def check_alike(team):
    """ParameterError, on all ranks, where two ranks of a Team run different versions of what the answer depends on."""
    if found := another(team, versions()):
        first, expected, rank, host, its = found
        raise ParameterError(
            f"Rank 0 on {first} runs {expected}; rank {rank} on {host} runs {its}. Install the same on both."
        )


def check_files(team, paths):
    """DataError, on all ranks, where files that every rank opens for itself are not the same on all, by their sizes and
    parts of them."""
    if found := another(team, ", ".join(map(glance, paths))):
        first, expected, rank, host, its = found
        raise DataError(
            f"Ranks do not read the same ({', '.join(map(str, paths))}): {expected} for rank 0 on {first}, {its} for "
            f"rank {rank} on {host}. Give all of them the same files, or {ALONE_VARIABLE}=1 to tasks of their own."
        )


def glance(path):
    """The size of a file and a checksum of pieces of it, its beginning and end among them, in words; why not, of one
    that cannot be read."""
    try:
        with open(path, "rb") as file:
            size, total = os.fstat(file.fileno()).st_size, 0
            for at in sorted({max(0, size - PIECE) * part // PIECES for part in range(PIECES + 1)}):
                file.seek(at)
                total = zlib.crc32(file.read(PIECE), total)
    except OSError as error:
        return error.strerror or "no file to look at twice"
    return f"{size:,} bytes ({total:08x})"


def another(team, own):
    """(host of rank 0, its text, rank, host, text) of the first rank of a Team that has another text than rank 0;
    None where all have the same."""
    told = np.frombuffer(f"{socket.gethostname()}\n{own}".encode(), np.uint8)
    named = [bytes(text).decode().split("\n") for text in team.allgather(told)]
    (first, expected), *others = named
    for rank, (host, found) in enumerate(others, 1):
        if found != expected:
            return first, expected, rank, host, found
    return None


def versions():
    """gpukit, numba, numba-cuda and numpy, in words."""
    others = (f"{name} {metadata.version(name)}" for name in ("numba", "numba-cuda", "numpy"))
    return ", ".join((f"gpukit {__version__}", *others))


def of_launch(text):
    """The Team that launch.py has made, of what its variable says."""
    rank, starter, *ends = text.split(",")
    for number in (LEFT, QUIET):
        signal.signal(number, _leave)
    with contextlib.suppress(OSError):  # where there is no prctl, ranks see the closed sockets of the others
        ctypes.CDLL(None).prctl(PARENT_ENDS, signal.SIGTERM)
    if os.getppid() != int(starter):  # it has ended already
        signal.raise_signal(signal.SIGTERM)
    way = dict(map(int, end.split(":")) for end in ends)
    memory = way.pop(int(rank), None)
    return Team(sockets.Messages(int(rank), way) if memory is None else mailbox.Messages(int(rank), way, memory))


def _leave(number, frame):
    """The handler of LEFT and QUIET: a request to stop, and why."""
    why = "Another rank has ended before the work was done: killed, or out of memory."
    left_alone.append(why if number == LEFT else "")
    signal.raise_signal(signal.SIGTERM)
