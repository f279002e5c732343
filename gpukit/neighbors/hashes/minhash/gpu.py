"""Host step of minHash on the GPU; cpu.py has the same function. Arrays stay on the device."""

import numpy as np

from gpukit._driver import device_array, launch
from gpukit.device.upload import to_device
from gpukit.neighbors.hashes.minhash import kernels, plan
from gpukit.neighbors.plan import blocks

BLOCK = 128


def hash_codes(columns, settings):
    """See cpu.hash_codes; indptr of the Columns on the host, users on the device."""
    codes = device_array((len(columns.indptr) - 1, settings.n_words), np.uint32)
    keys = plan.hashing_keys(settings.seed, settings.p * settings.q)
    grid = blocks(codes.size * kernels.WARP, BLOCK)
    sent = to_device(columns.indptr), columns.users, to_device(keys)
    launch(kernels.hash_columns, grid, BLOCK, *sent, settings.n_bits, codes)
    return codes
