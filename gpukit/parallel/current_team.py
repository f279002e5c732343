"""The Team of this process, started by gpukit, mpiexec or srun, or alone."""

from __future__ import annotations

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
from gpukit.parallel.stalled_ranks import SILENT_EXIT
from gpukit.parallel.team import ALONE, Team
from gpukit.runtime.launcher_env import ALONE_VARIABLE, TEAM_VARIABLE, launched_ranks

PR_SET_PDEATHSIG = 1  # of prctl
SAMPLES, SAMPLE_BYTES = 16, 1 << 18  # of a file, for its checksum
RANK_ENDED = signal.SIGUSR1  # sent by launch.py to ranks that have not noticed the end of another rank
exit_reasons = []  # set by the launcher's signals: the message to print, "" if the launcher prints it


def join_team(errors=None) -> Team:
    """Return the Team of this process; ALONE if the process has no launcher.

    errors: see mpi.Messages. Raises ParameterError if mpiexec or srun has started several ranks, but mpi4py is missing
    or MPI sees each rank alone.
    """
    if TEAM_VARIABLE in os.environ:
        return join_launched_team(os.environ.pop(TEAM_VARIABLE))
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
            f"{size} ranks were started by mpiexec or srun, but MPI sees each of them alone. "
            "Start them by srun --mpi=pmix (srun --mpi=list lists the types), or by the mpiexec of mpi4py's own MPI."
        )
    signal.signal(SILENT_EXIT, _stop)
    return Team(messages)


def check_same_versions(team):
    """Raise ParameterError on all ranks if their versions of gpukit or its packages differ."""
    if difference := find_difference(team, describe_versions()):
        first, expected, rank, host, text = difference
        raise ParameterError(
            f"Rank 0 on {first} runs {expected}; rank {rank} on {host} runs {text}. Install the same on both."
        )


def check_same_files(team, paths):
    """Raise DataError on all ranks if input files of ranks differ in size or sampled bytes."""
    if difference := find_difference(team, ", ".join(map(describe_file, paths))):
        first, expected, rank, host, text = difference
        raise DataError(
            f"Ranks read different files ({', '.join(map(str, paths))}): {expected} for rank 0 on {first}, {text} for "
            f"rank {rank} on {host}. Give all ranks the same files, or set {ALONE_VARIABLE}=1 for independent tasks."
        )


def describe_file(path):
    """Return a file's size and checksum of samples, or the reason of a read error."""
    try:
        with open(path, "rb") as file:
            size, total = os.fstat(file.fileno()).st_size, 0
            for start in sorted({max(0, size - SAMPLE_BYTES) * part // SAMPLES for part in range(SAMPLES + 1)}):
                file.seek(start)
                total = zlib.crc32(file.read(SAMPLE_BYTES), total)
    except OSError as error:
        return error.strerror or "not a seekable file"
    return f"{size:,} bytes ({total:08x})"


def find_difference(team, text):
    """Return (host of rank 0, its text, rank, host, text) of the first different rank, or None."""
    message = np.frombuffer(f"{socket.gethostname()}\n{text}".encode(), np.uint8)
    texts = [bytes(array).decode().split("\n") for array in team.allgather(message)]
    (first, expected), *others = texts
    for rank, (host, other) in enumerate(others, 1):
        if other != expected:
            return first, expected, rank, host, other
    return None


def describe_versions():
    """Return the versions of gpukit, numba, numba-cuda and numpy as text."""
    others = (f"{name} {metadata.version(name)}" for name in ("numba", "numba-cuda", "numpy"))
    return ", ".join((f"gpukit {__version__}", *others))


def join_launched_team(text):
    """Return the Team of launch.py, from the text of TEAM_VARIABLE."""
    rank, launcher, *descriptors = text.split(",")
    for number in (RANK_ENDED, SILENT_EXIT):
        signal.signal(number, _stop)
    with contextlib.suppress(OSError):  # without prctl, ranks notice the closed sockets of the others
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != int(launcher):  # it has already ended
        signal.raise_signal(signal.SIGTERM)
    ends = dict(map(int, pair.split(":")) for pair in descriptors)
    memory = ends.pop(int(rank), None)
    return Team(sockets.Messages(int(rank), ends) if memory is None else mailbox.Messages(int(rank), ends, memory))


def _stop(number, frame):
    """Handle RANK_ENDED and SILENT_EXIT: record the reason and request a stop."""
    reason = "Another rank has ended before the computation was complete: killed, or out of memory."
    exit_reasons.append(reason if number == RANK_ENDED else "")
    signal.raise_signal(signal.SIGTERM)
