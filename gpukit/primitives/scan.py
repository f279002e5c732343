"""Running sums over a block, by shuffles and one row of shared memory."""

import numpy as np

from gpukit._cuda import cuda, device

FULL = np.uint32(0xFFFFFFFF)


@device
def block_prefix(value, warps):
    """The sum of value (float64) over the block's threads before this one; `warps` warps, at most 32.

    All threads must arrive; between two calls there must be a barrier.
    """
    sums = cuda.shared.array(32, np.float64)
    lane, warp = cuda.laneid, cuda.threadIdx.x // 32
    running, reach = value, 1
    while reach < 32:
        other = cuda.shfl_up_sync(FULL, running, reach)
        running += other if lane >= reach else np.float64(0.0)
        reach *= 2
    before = cuda.shfl_up_sync(FULL, running, 1)
    if lane == 31:
        sums[warp] = running
    cuda.syncthreads()
    total = before if lane > 0 else np.float64(0.0)
    for other in range(warps):
        total += sums[other] if other < warp else np.float64(0.0)
    return total
