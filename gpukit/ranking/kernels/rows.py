"""Device functions for rows of X over `lanes` threads with `quads` groups of four numbers each, in float64 registers.

Both are constants at compile time. A lane has the groups lane, lane + lanes, ...; rows are padded with zeros to whole
groups.
"""

import numpy as np

from gpukit._cuda import cuda, device
from gpukit.primitives.wide import read4_hinted

F64 = np.float64
U32 = np.uint32
THREADS = 256
WARPS = THREADS // 32
LIMIT = 1024  # most features of a dense matrix; 6 and 8 groups per lane were measured


def shape(n):
    """Return (lanes, quads) for n features: at most three groups of four per lane, while there are lanes."""
    quads = -(-n // 4)
    lanes = next(lanes for lanes in (4, 8, 16, 32) if lanes == 32 or quads <= 3 * lanes)
    return lanes, -(-quads // lanes)


@device
def stage_vector(v, out):
    """out (in shared memory, 16-byte aligned, lanes * quads * 4 numbers) = v, 0 beyond its end; no barrier."""
    for f in range(U32(cuda.threadIdx.x), U32(out.size), U32(THREADS)):
        out[f] = v[f] if f < U32(v.size) else F64(0.0)


@device
def row_dot(X, row, lane, lanes, quads, v, zero, policy):
    """Return the lane's part of X[row] . v, v staged, in the precision of v.

    zero: 0 of that type; policy: of primitives.wide. Lanes beyond the end of the row read its last group (times zeros
    of v), so that there is no branch between two loads.
    """
    total, last = zero, U32(U32(X.shape[1] >> 2) - U32(1))
    for q in range(quads):
        quad = U32(lane + U32(q * lanes))
        index = U32(U32(4) * quad)
        a, b, c, d = read4_hinted(X, row, U32(U32(4) * min(quad, last)), policy)
        total += v[index] * a + v[U32(index + U32(1))] * b + v[U32(index + U32(2))] * c + v[U32(index + U32(3))] * d
    return total


@device
def add_row(X, row, lane, lanes, quads, factor, total, policy):
    """total += factor * the lane's numbers of X[row], in the precision of factor; undefined beyond the row's end.

    policy: of primitives.wide.
    """
    last = U32(U32(X.shape[1] >> 2) - U32(1))
    for q in range(quads):
        a, b, c, d = read4_hinted(X, row, U32(U32(4) * min(U32(lane + U32(q * lanes)), last)), policy)
        total[4 * q] += factor * a
        total[4 * q + 1] += factor * b
        total[4 * q + 2] += factor * c
        total[4 * q + 3] += factor * d


@device
def flush(total, lane, lanes, quads, zero, sums):
    """sums += the block's sum of total, then total = 0; sums: float64 in shared memory, one number per feature."""
    thread = U32(cuda.threadIdx.x)
    for e in range(4 * quads):
        reach = lanes
        while reach < 32:
            total[e] += cuda.shfl_xor_sync(U32(0xFFFFFFFF), total[e], reach)
            reach *= 2
    for warp in range(WARPS):
        cuda.syncthreads()
        if thread // U32(32) == U32(warp) and thread % U32(32) < U32(lanes):
            for e in range(4 * quads):
                sums[U32(U32(4) * U32(lane + U32((e // 4) * lanes)) + U32(e % 4))] += F64(total[e])
    cuda.syncthreads()
    for e in range(4 * quads):
        total[e] = zero


@device
def clear(sums):
    """sums = 0, by the block, with a barrier."""
    for f in range(U32(cuda.threadIdx.x), U32(sums.size), U32(THREADS)):
        sums[f] = F64(0.0)
    cuda.syncthreads()
