"""Host step of the selection on the GPU; arrays stay there."""

import numpy as np

from gpukit._cuda import cuda
from gpukit.selection import kernels

LAST = np.uint32(0xFFFFFFFF)


def smallest(keys, k, limit=LAST):
    """(indices (rows, k) int32, values (rows, k) uint32) on the device: as gpukit.selection.cpu.smallest, k <= n."""
    indices = cuda.device_array((keys.shape[0], k), np.int32)
    values = cuda.device_array((keys.shape[0], k), np.uint32)
    kernels.select_smallest[keys.shape[0], kernels.BLOCK_SIZE](keys, np.uint32(limit), indices, values)
    return indices, values
