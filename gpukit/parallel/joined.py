"""The Team that this process belongs to: that of the process that started it, of mpiexec or srun, or of nobody else."""

import contextlib
import ctypes
import os
import signal

from gpukit.errors import ParameterError
from gpukit.parallel import mpi, sockets
from gpukit.parallel.team import ALONE, Team

VARIABLE = "GPUKIT_TEAM"  # rank, then other rank:descriptor ..., set by launch.py
STARTED_BY = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_SIZE", "SLURM_STEP_NUM_TASKS")
PARENT_ENDS = 1  # PR_SET_PDEATHSIG of prctl
LEFT = signal.SIGUSR1  # by which launch.py tells a rank that has not noticed that another one has ended
left_alone = []  # what is to be said of it


def joined():
    """The Team of this process; ALONE for a process that was started by itself.

    Raises ParameterError where mpiexec has started several and mpi4py is not installed.
    """
    if VARIABLE in os.environ:
        return of_launch(os.environ.pop(VARIABLE))
    sizes = [os.environ[name] for name in STARTED_BY if name in os.environ]
    if not any(size.isdigit() and int(size) > 1 for size in sizes):
        return ALONE
    try:
        return Team(mpi.Messages())
    except ImportError as error:
        raise ParameterError(
            f"{sizes[0]} ranks were started by mpiexec or srun, and mpi4py cannot be loaded ({error}). "
            "Install gpukit[mpi], or start one process with --ranks."
        ) from None


def of_launch(text):
    """The Team that launch.py has made, of what its variable says."""
    rank, *ends = text.split(",")
    signal.signal(LEFT, _leave)
    with contextlib.suppress(OSError):  # where there is no prctl, ranks see the closed sockets of the others
        ctypes.CDLL(None).prctl(PARENT_ENDS, signal.SIGTERM)
    return Team(sockets.Messages(int(rank), dict(map(int, end.split(":")) for end in ends)))


def _leave(number, frame):
    """The handler of LEFT: a request to stop, and why."""
    left_alone.append("Another rank has ended before the work was done: killed, or out of memory.")
    signal.raise_signal(signal.SIGTERM)
