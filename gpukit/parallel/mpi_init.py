"""The start of MPI, whose waits have no end of their own: a thread looks after the ranks of this host meanwhile."""

import contextlib
import ctypes
import os
import threading
from pathlib import Path

from gpukit.parallel.stalled_ranks import EACH, QUIET, STOPPED, StoppedError, Waited, Watch, fields, state
from gpukit.runtime.launcher_env import launched_ranks

JOB = ("PMIX_NAMESPACE", "PMI_JOBID", "SLURM_JOB_ID", "SLURM_STEP_ID")  # what tells a job from others of one daemon
GRACE = 8.0  # seconds that another rank has to say why
SILENT = "MPI has not started on all ranks for {:g} s. Is one of another host stopped, or cut off?"


def begin():
    """mpi4py's MPI, started. Its own start keeps all threads of Python from running, and has no end where a rank is
    stopped."""
    import mpi4py

    mpi4py.rc.initialize = False
    if mpi4py.rc.finalize is None:
        mpi4py.rc.finalize = True
    from mpi4py import MPI

    if not MPI.Is_initialized():
        try:
            start = ctypes.CDLL(MPI.__file__).MPI_Init_thread
        except (OSError, AttributeError):  # MPI under other names
            MPI.Init_thread()
            return MPI
        start(None, None, MPI.THREAD_MULTIPLE, ctypes.byref(ctypes.c_int()))
        for world in (MPI.COMM_SELF, MPI.COMM_WORLD):  # as mpi4py does it
            world.Set_errhandler(MPI.ERRORS_RETURN)
    return MPI


@contextlib.contextmanager
def attended(seconds, errors=None):
    """Within it this process ends, by one line of one rank, where a rank of this host is stopped for too long, or
    after so many seconds; errors: the descriptor for that line, None: standard error."""
    over = threading.Event()
    threading.Thread(target=_attend, args=(over, seconds, errors), daemon=True).start()
    try:
        yield
    finally:
        over.set()


def _attend(over, seconds, errors):
    watch, waited, why = Watch({}), Waited(), None
    while why is None:
        if over.wait(EACH / 2):
            return
        watch.ranks = siblings()
        try:
            watch.check()
        except StoppedError as error:
            why = str(error)
        if waited.seconds() > seconds:
            why = SILENT.format(seconds)
    _end(over, why, watch, 2 if errors is None else errors)


def _end(over, why, watch, errors):
    """Leave, unless MPI goes on now; the first of the ranks of this host that are not stopped says why, and where all
    hosts have waited that of rank 0."""
    own, lost = launched_ranks()[1], {rank for rank, process in watch.ranks.items() if state(process) == STOPPED}
    speaks = own == min(watch.ranks.keys() - lost, default=own)
    if over.wait(0.0 if speaks and (watch.found or own == 0) else GRACE if speaks else 2 * GRACE):
        return
    if speaks:
        os.write(errors, f"Error: {why}\n".encode())
    for rank in lost:  # mpiexec lets it go on for a moment: it would begin to talk, and mpiexec wait for it
        with contextlib.suppress(OSError):
            os.kill(watch.ranks[rank], QUIET)
    os._exit(1)


def siblings():
    """{rank: process number} of this rank, and of those that the same process has started for the same job."""
    found, parent = {launched_ranks()[1]: os.getpid()}, str(os.getppid()).encode()
    for path in Path("/proc").glob("[0-9]*"):
        if fields(path.name)[1:2] == [parent] and (settings := environment(path)) and of_job(settings):
            found.setdefault(launched_ranks(settings)[1], int(path.name))
    return found


def of_job(settings):
    """Whether a process with such an environment is a rank of the job of this one."""
    return launched_ranks(settings)[0] == launched_ranks()[0] and all(
        settings.get(name) == os.environ.get(name) for name in JOB
    )


def environment(path):
    """{name: value} of the process of a folder of /proc; {} where nothing is known."""
    try:
        return dict(
            os.fsdecode(line).split("=", 1) for line in (path / "environ").read_bytes().split(b"\0") if b"=" in line
        )
    except OSError:
        return {}
