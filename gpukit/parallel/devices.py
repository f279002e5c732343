"""Devices of ranks: one GPU per rank, and the transport of arrays between them."""

import os
import socket

import numpy as np

from gpukit.device.place import gpu_count
from gpukit.errors import DeviceError
from gpukit.parallel.array_transport import HostTransport
from gpukit.runtime.thread_count import get_num_threads


def check_distinct_gpus(team, device):
    """Raise DeviceError on all ranks if two ranks use the same GPU, which may hang."""
    if team.size == 1:
        return
    name = f"{socket.gethostname()} {gpu_uuid(device)}" if device.is_cuda else ""
    names = [bytes(text).decode() for text in team.allgather(np.frombuffer(name.encode(), np.uint8))]
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


def make_rank_settings(size, gpus):
    """Return a function from a rank to its environment: its GPU, or its number of threads.

    Raises DeviceError if gpus is true and there are fewer visible GPUs than ranks.
    """
    if not gpus:
        threads = str(max(1, get_num_threads() // size))
        return lambda rank: {"GPUKIT_NUM_THREADS": threads}
    count = gpu_count()
    if size > count:
        reason = "no CUDA GPU was found" if not count else f"only {count} GPU(s) were found"
        raise DeviceError(f"--gpus {size} was requested, but {reason}. Use --ranks {size} for processes on the CPU.")
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    names = visible.split(",") if visible else [str(number) for number in range(count)]
    return lambda rank: {"CUDA_VISIBLE_DEVICES": names[rank]}


def make_transport(team, device, remark=lambda text: None):
    """Return the transport between the ranks' devices: CPUs, GPUs or both.

    Call it on all ranks together. device: device.Device of this rank, with numba arrays on a GPU; remark(text): called
    if GPUs communicate through the host.
    """
    on_gpus = [bool(flag[0]) for flag in team.allgather(np.array([device.is_cuda]))]
    if not device.is_cuda:
        return HostTransport(team)
    from gpukit.parallel import nccl

    return nccl.make_gpu_transport(team, device, remark) if all(on_gpus) else nccl.make_staged_transport(team)
