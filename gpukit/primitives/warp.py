"""Sums and maxima over aligned groups of lanes by butterfly shuffles; every lane gets the result.

`lanes` is a power of two, 1 to 32, constant at compile time in the caller. All 32 lanes of the warp must arrive.
"""

import numpy as np

from gpukit._cuda import cuda, device

FULL = np.uint32(0xFFFFFFFF)
WARP = 32  # lanes


@device
def group_sum(value, lanes):
    """Return the sum of value over the lane's group."""
    offset = 1
    while offset < lanes:
        value += cuda.shfl_xor_sync(FULL, value, offset)
        offset <<= 1
    return value


@device
def group_max(value, lanes):
    """Return the maximum of value over the lane's group."""
    offset = 1
    while offset < lanes:
        value = max(value, cuda.shfl_xor_sync(FULL, value, offset))
        offset <<= 1
    return value


@device
def group_pick(value, source, lanes):
    """Return the value of lane `source` of the lane's group."""
    first = cuda.laneid & ~(lanes - 1)
    return cuda.shfl_sync(FULL, value, first + source)
