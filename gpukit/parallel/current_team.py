"""The Team of this process: by a rendezvous, by MPI, or alone; its files, its GPUs, transport between devices."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import socket
import zlib

from gpukit import interrupt
from gpukit.errors import DataError, DeviceError, ParameterError
from gpukit.parallel import mpi, rendezvous, sockets
from gpukit.parallel.heartbeat import RANK_ENDED, Heartbeat, exit_reasons
from gpukit.parallel.team import ALONE, HostTransport, Team
from gpukit.runtime.launcher_env import ALONE_VARIABLE, PARENT_VARIABLE, launched_ranks


def join_team(errors=None) -> Team:
    """Return the Team of this process; ALONE if the process has no launcher.

    errors: descriptor for messages that rank 0 cannot print any more. Raises ParameterError if mpiexec or srun has
    started several ranks, but mpi4py is missing or MPI sees each rank alone.
    """
    end_with_parent()
    size, _ = launched_ranks()
    if size == 1:
        return ALONE
    meeting = rendezvous.read_environment()
    if meeting is not None:
        return open_team(meeting, errors, is_process=True)
    try:
        messages = mpi.Messages(errors)
    except ImportError as error:
        raise ParameterError(
            f"{size} ranks were started by mpiexec or srun, and mpi4py cannot be loaded ({error}). "
            "Install gpukit[mpi], or start one process with --ranks."
        ) from None
    if messages.size == 1:
        raise ParameterError(
            f"{size} ranks were started by mpiexec or srun, but MPI sees each of them alone. Start them by srun "
            "--mpi=pmix (srun --mpi=list lists the types), by the mpiexec of mpi4py's own MPI, or set GPUKIT_RANKS, "
            "GPUKIT_RANK, GPUKIT_ADDRESS and GPUKIT_KEY."
        )
    return Team(messages)


def open_team(meeting, errors=None, is_process=False):
    """Return the Team of a rank of a Rendezvous; errors, is_process: see Heartbeat."""
    peers = rendezvous.meet(meeting)
    with interrupt.defer() as stop:  # which could not be reported before the team is complete
        connections = rendezvous.connect_all(meeting, peers)
        team = Team(sockets.Messages(meeting.rank, connections, Heartbeat(meeting, peers, errors, is_process)))
        if stop.requested is not None:
            with team:
                raise interrupt.Interrupted(stop.requested)
    return team


def end_with_parent():
    """Let the end of the process that has started this rank end it too."""
    signal.signal(RANK_ENDED, _stop)
    if parent := os.environ.pop(PARENT_VARIABLE, None):
        set_death_signal = 1  # PR_SET_PDEATHSIG
        with contextlib.suppress(OSError):  # without prctl, ranks notice the end of the others
            ctypes.CDLL(None).prctl(set_death_signal, signal.SIGTERM)
        if os.getppid() != int(parent):  # it has already ended
            signal.raise_signal(signal.SIGTERM)


def check_same_files(team, paths):
    """Raise DataError on all ranks if input files of ranks differ in size or sampled bytes."""
    check_same(team, ", ".join(map(str, paths)), ", ".join(map(describe_file, paths)))


def check_same(team, names, text):
    """Raise DataError on all ranks if the description of files with these names differs between ranks."""
    (first, expected), *others = team.allgather_json([socket.gethostname(), text])
    for rank, (host, other) in enumerate(others, 1):
        if other != expected:
            raise DataError(
                f"Ranks read different files ({names}): {expected} for rank 0 on {first}, {other} for rank {rank} on "
                f"{host}. Give all ranks the same files, in a folder that they share, or set {ALONE_VARIABLE}=1 for "
                "independent tasks."
            )


def describe_file(path):
    """Return a file's size and checksum of samples, or the reason of a read error."""
    samples, sample_bytes = 16, 1 << 18
    try:
        with open(path, "rb") as file:
            size, total = os.fstat(file.fileno()).st_size, 0
            for start in sorted({max(0, size - sample_bytes) * part // samples for part in range(samples + 1)}):
                file.seek(start)
                total = zlib.crc32(file.read(sample_bytes), total)
    except OSError as error:
        return error.strerror or "not a seekable file"
    return f"{size:,} bytes ({total:08x})"


def check_distinct_gpus(team, device):
    """Raise DeviceError on all ranks if two ranks use the same GPU, which may hang."""
    if team.size == 1:
        return
    names = team.allgather_json(f"{socket.gethostname()} {gpu_uuid(device)}" if device.is_cuda else "")
    for rank, name in enumerate(names):
        if name and names.index(name) != rank:
            raise DeviceError(
                f"Ranks {names.index(name)} and {rank} use the same GPU {name.split()[-1]}. Start at most one rank per "
                "GPU, each with its own --device cuda:N or CUDA_VISIBLE_DEVICES."
            )


def gpu_uuid(device):
    """Return a unique name of a GPU."""
    from gpukit._cuda import cuda

    return str(getattr(cuda.gpus[device.index], "uuid", device))


def make_transport(team, device, remark=lambda text: None):
    """Return the transport between the ranks' devices: CPUs, GPUs or both.

    Call it on all ranks together. device: device.Device of this rank, with numba arrays on a GPU; remark(text): called
    if GPUs communicate through the host.
    """
    on_gpus = team.allgather_json(device.is_cuda)
    if not device.is_cuda:
        return HostTransport(team)
    from gpukit.parallel import nccl

    return nccl.make_gpu_transport(team, device, remark) if all(on_gpus) else nccl.make_staged_transport(team)


def _stop(number, frame):
    """Handle RANK_ENDED: record the reason and request a stop."""
    exit_reasons.append("Another rank has ended before the computation was complete: killed, or out of memory.")
    signal.raise_signal(signal.SIGTERM)
