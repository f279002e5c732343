"""Sums and exclusive prefix sums over a block of whole warps, by shuffles and shared memory, `parts`.

All threads of the block must call them, with a barrier between two calls with the same `parts`. The kernel declares
parts, because shared arrays of two device functions would get the same name. `warps` is a compile-time
constant of the caller.
"""

import numpy as np

from gpukit._cuda import cuda, device
from gpukit.primitives.warp import FULL, group_sum


@device
def block_prefix(value, warps, parts):
    """Return the sum of value (float64) over the block's earlier threads; parts (warps,) float64 in shared memory."""
    lane, warp = cuda.laneid, cuda.threadIdx.x // 32
    running, reach = value, 1
    while reach < 32:
        other = cuda.shfl_up_sync(FULL, running, reach)
        running += other if lane >= reach else np.float64(0.0)
        reach *= 2
    before = cuda.shfl_up_sync(FULL, running, 1)
    if lane == 31:
        parts[warp] = running
    cuda.syncthreads()
    total = before if lane > 0 else np.float64(0.0)
    for other in range(warps):
        total += parts[other] if other < warp else np.float64(0.0)
    return total


@device
def block_sum(value, warps, parts):
    """Return the sum of value (float64) over the block; parts (warps,) float64 in shared memory."""
    value = group_sum(value, 32)
    if cuda.laneid == 0:
        parts[cuda.threadIdx.x // 32] = value
    cuda.syncthreads()
    total = np.float64(0.0)
    for warp in range(warps):
        total += parts[warp]
    return total
