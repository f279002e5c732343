"""Each rank its own GPU: looked at before any work, since two on one are slow, or hang."""

import os
import socket

import numpy as np

from gpukit.device.place import gpu_count
from gpukit.errors import DeviceError
from gpukit.runtime.thread_count import get_num_threads


def check_apart(team, device):
    """DeviceError, on all ranks, where two ranks of a Team are to work on the same GPU (device.Device)."""
    if team.size == 1:
        return
    own = f"{socket.gethostname()} {uuid(device)}" if device.is_cuda else ""
    names = [bytes(name).decode() for name in team.allgather(np.frombuffer(own.encode(), np.uint8))]
    for rank, name in enumerate(names):
        if name and names.index(name) != rank:
            raise DeviceError(
                f"Ranks {names.index(name)} and {rank} would both work on the GPU {name.split()[-1]}. Start as many "
                "ranks as there are GPUs, each with a --device cuda:N or a CUDA_VISIBLE_DEVICES of its own."
            )


def uuid(device):
    """What tells a GPU from all others."""
    from gpukit._cuda import cuda

    return str(getattr(cuda.gpus[device.index], "uuid", device))


def settings_of_ranks(size, gpus):
    """A function that gives the environment of a rank: a GPU of its own, of the visible ones, or its share of the
    processors. DeviceError for more ranks than GPUs."""
    if not gpus:
        threads = str(max(1, get_num_threads() // size))
        return lambda rank: {"GPUKIT_NUM_THREADS": threads}
    found = gpu_count()
    if size > found:
        have = "no CUDA GPU was found" if not found else f"only {found} GPU(s) were found"
        raise DeviceError(f"--gpus {size} was asked for, but {have}. Use --ranks {size} for processes on the CPU.")
    seen = os.environ.get("CUDA_VISIBLE_DEVICES")
    names = seen.split(",") if seen else [str(number) for number in range(found)]
    return lambda rank: {"CUDA_VISIBLE_DEVICES": names[rank]}
