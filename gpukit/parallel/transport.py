"""Which lines the ranks of a Team have between their devices."""

import numpy as np

from gpukit.parallel.array_transport import HostLines


def lines_between(team, device, remark=lambda text: None):
    """The lines of a Team whose ranks' arrays lie on their Devices (device.Device), CPUs, GPUs or some of each; a GPU's
    are numba's. remark: told in a line where GPUs have to talk by way of the host."""
    on_gpus = [bool(kind[0]) for kind in team.allgather(np.array([device.is_cuda]))]
    if not device.is_cuda:
        return HostLines(team)
    from gpukit.parallel import nccl

    return nccl.device_lines(team, device, remark) if all(on_gpus) else nccl.by_host(team)
