"""Running sums over a block, by shuffles and one row of shared memory."""

import numpy as np

from gpukit._cuda import cuda, device

FULL = np.uint32(0xFFFFFFFF)


@device
def block_prefix(value, warps, parts):
    """The sum of value (float64) over the block's threads before this one; parts (warps,) float64 in shared memory.

    All threads must arrive; between two calls there must be a barrier. (The kernel declares parts: shared arrays of two
    device functions would get one name.)
    """
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
