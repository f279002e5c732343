"""Host step of the selection on the GPU; arrays stay there."""

import numpy as np

from gpukit._driver import device_array, launch
from gpukit.selection import kernels

LAST = np.uint32(0xFFFFFFFF)


def smallest(keys, k, limit=LAST):
    """(indices (rows, k) int32, values (rows, k) uint32) on the device: as gpukit.selection.cpu.smallest, k <= n."""
    indices = device_array((keys.shape[0], k), np.int32)
    values = device_array((keys.shape[0], k), np.uint32)
    launch(kernels.select_smallest, keys.shape[0], kernels.BLOCK_SIZE, keys, np.uint32(limit), indices, values)
    return indices, values


def smallest_listed(begins, sizes, entries, k):
    """(indices (rows, k) int32, values (rows, k) uint32) on the device: as gpukit.selection.cpu.smallest_listed."""
    indices, values = device_array((sizes.size, k), np.int32), device_array((sizes.size, k), np.uint32)
    launch(kernels.select_listed, sizes.size, kernels.BLOCK_SIZE, begins, sizes, entries, indices, values)
    return indices, values
