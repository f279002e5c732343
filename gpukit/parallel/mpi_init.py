"""Start of MPI with a timeout: a thread monitors the ranks of this host."""

import contextlib
import ctypes
import os
import threading
from pathlib import Path

from gpukit.parallel.stalled_ranks import (
    CHECK_SECONDS,
    SILENT_EXIT,
    STOPPED,
    RankMonitor,
    StoppedError,
    WaitTimer,
    process_state,
    read_stat,
)
from gpukit.runtime.launcher_env import launched_ranks

JOB_VARIABLES = ("PMIX_NAMESPACE", "PMI_JOBID", "SLURM_JOB_ID", "SLURM_STEP_ID")  # identify a job of one daemon
REPORT_SECONDS = 8.0  # that another rank has to report the reason
TIMEOUT_MESSAGE = "MPI has not started on all ranks for {:g} s. Is a rank of another host stopped, or unreachable?"


def start_mpi():
    """Return mpi4py's MPI, initialized by a C call that lets other Python threads run.

    mpi4py's own initialization blocks all threads, and waits for a stopped rank without a timeout.
    """
    import mpi4py

    mpi4py.rc.initialize = False
    if mpi4py.rc.finalize is None:
        mpi4py.rc.finalize = True
    from mpi4py import MPI

    if not MPI.Is_initialized():
        try:
            initialize = ctypes.CDLL(MPI.__file__).MPI_Init_thread
        except (OSError, AttributeError):  # the library has no such symbol
            MPI.Init_thread()
            return MPI
        initialize(None, None, MPI.THREAD_MULTIPLE, ctypes.byref(ctypes.c_int()))
        for communicator in (MPI.COMM_SELF, MPI.COMM_WORLD):  # as after mpi4py's own initialization
            communicator.Set_errhandler(MPI.ERRORS_RETURN)
    return MPI


@contextlib.contextmanager
def watch_start(seconds, errors=None):
    """End this process if a rank of this host is stopped, or after `seconds`.

    Applies within the context. One rank prints one line to the descriptor `errors`, None: standard error.
    """
    done = threading.Event()
    threading.Thread(target=_watch, args=(done, seconds, errors), daemon=True).start()
    try:
        yield
    finally:
        done.set()


def _watch(done, seconds, errors):
    monitor, timer, reason = RankMonitor({}), WaitTimer(), None
    while reason is None:
        if done.wait(CHECK_SECONDS / 2):
            return
        monitor.ranks = find_siblings()
        try:
            monitor.check()
        except StoppedError as error:
            reason = str(error)
        if timer.seconds() > seconds:
            reason = TIMEOUT_MESSAGE.format(seconds)
    _end_process(done, reason, monitor, 2 if errors is None else errors)


def _end_process(done, reason, monitor, errors):
    """End the process unless MPI starts now; one rank prints the reason.

    It is the first rank of this host that is not stopped. After a timeout on all hosts, rank 0 has priority.
    """
    own_rank = launched_ranks()[1]
    stopped = {rank for rank, process in monitor.ranks.items() if process_state(process) == STOPPED}
    reports = own_rank == min(monitor.ranks.keys() - stopped, default=own_rank)
    delay = REPORT_SECONDS if reports else 2 * REPORT_SECONDS
    if done.wait(0.0 if reports and (monitor.failure or own_rank == 0) else delay):
        return
    if reports:
        os.write(errors, f"Error: {reason}\n".encode())
    for rank in stopped:  # mpiexec continues it for a moment, and would wait for its output
        with contextlib.suppress(OSError):
            os.kill(monitor.ranks[rank], SILENT_EXIT)
    os._exit(1)


def find_siblings():
    """Return {rank: process number} of the job's ranks with the same parent process."""
    ranks, parent = {launched_ranks()[1]: os.getpid()}, str(os.getppid()).encode()
    for path in Path("/proc").glob("[0-9]*"):
        is_sibling = read_stat(path.name)[1:2] == [parent]
        if is_sibling and (environment := read_environment(path)) and is_same_job(environment):
            ranks.setdefault(launched_ranks(environment)[1], int(path.name))
    return ranks


def is_same_job(environment):
    """Return True if a process with this environment is a rank of this process's job."""
    if launched_ranks(environment)[0] != launched_ranks()[0]:
        return False
    return all(environment.get(name) == os.environ.get(name) for name in JOB_VARIABLES)


def read_environment(path):
    """Return the environment of a process by its folder in /proc, {} if unreadable."""
    try:
        return dict(
            os.fsdecode(line).split("=", 1) for line in (path / "environ").read_bytes().split(b"\0") if b"=" in line
        )
    except OSError:
        return {}
