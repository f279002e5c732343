"""Sums and running sums over a block of whole warps, by shuffles and one row of shared memory, `parts`.

All threads of the block must arrive; between two calls with one `parts` there must be a barrier. The kernel declares
parts: shared arrays of two device functions would get one name. `warps` is constant at compile time in the caller.
"""

import numpy as np

from gpukit._cuda import cuda, device
from gpukit.primitives.warp import FULL, group_sum


@device
def block_prefix(value, warps, parts):
    """The sum of value (float64) over the block's threads before this one; parts (warps,) float64 in shared memory."""
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
    """The sum of value (float64) over the block, for every thread; parts (warps,) float64 in shared memory."""
    value = group_sum(value, 32)
    if cuda.laneid == 0:
        parts[cuda.threadIdx.x // 32] = value
    cuda.syncthreads()
    total = np.float64(0.0)
    for warp in range(warps):
        total += parts[warp]
    return total
