"""Device functions for rows of X spread over `lanes` threads, `quads` quads of numbers each, in float64 registers.

Constant at compile time in the caller, both; a lane has the quads lane, lane + lanes, ...; rows are padded with zeros to
whole quads.
"""

import numpy as np

from gpukit._cuda import cuda, device
from gpukit.primitives.warp import group_sum
from gpukit.primitives.wide import read4

F64 = np.float64
U32 = np.uint32
THREADS = 256
WARPS = 8
LIMIT = 1024  # most features of a dense matrix; quads a lane: 6 and 8 have been looked at


def shape(n):
    """(lanes, quads) for n features."""
    quads = -(-n // 4)
    lanes = next(lanes for lanes in (4, 8, 16, 32) if lanes == 32 or quads <= 5 * lanes)
    return lanes, -(-quads // lanes)


@device
def load_vector(v, lane, lanes, quads, out):
    """out = the lane's numbers of v, 0 beyond its end."""
    for q in range(quads):
        for e in range(4):
            f = U32(U32(4) * U32(lane + U32(q * lanes)) + U32(e))
            out[4 * q + e] = v[f] if f < U32(v.size) else F64(0.0)


@device
def row_dot(X, row, lane, lanes, quads, v):
    """The lane's part of X[row] . v, in float64."""
    total, last = F64(0.0), U32(X.shape[1] >> 2)
    for q in range(quads):
        quad = U32(lane + U32(q * lanes))
        if quad < last:
            a, b, c, d = read4(X, U32(row), U32(U32(4) * quad))
            total += F64(a) * v[4 * q] + F64(b) * v[4 * q + 1] + F64(c) * v[4 * q + 2] + F64(d) * v[4 * q + 3]
    return total


@device
def add_row(X, row, lane, lanes, quads, factor, total):
    """total += factor * the lane's numbers of X[row]."""
    last = U32(X.shape[1] >> 2)
    for q in range(quads):
        quad = U32(lane + U32(q * lanes))
        if quad < last:
            a, b, c, d = read4(X, U32(row), U32(U32(4) * quad))
            total[4 * q] += factor * F64(a)
            total[4 * q + 1] += factor * F64(b)
            total[4 * q + 2] += factor * F64(c)
            total[4 * q + 3] += factor * F64(d)


@device
def add_lanes(space, lane, lanes, quads, total, value, n, out):
    """out[:n] = the block's sum of total, and out[n], where there is one, that of value; space[:n + 1] is overwritten."""
    thread = U32(cuda.threadIdx.x)
    for e in range(4 * quads):
        reach = lanes
        while reach < 32:
            total[e] += cuda.shfl_xor_sync(U32(0xFFFFFFFF), total[e], reach)
            reach *= 2
    value = group_sum(value, 32)
    for warp in range(WARPS):
        cuda.syncthreads()
        if thread // U32(32) == U32(warp) and thread % U32(32) < U32(lanes):
            for e in range(4 * quads):
                f = U32(U32(4) * U32(lane + U32((e // 4) * lanes)) + U32(e % 4))
                if f < U32(n):
                    space[f] = total[e] + (space[f] if warp > 0 else F64(0.0))
            if lane == U32(0):
                space[U32(n)] = value + (space[U32(n)] if warp > 0 else F64(0.0))
    cuda.syncthreads()
    for f in range(thread, U32(out.size), U32(THREADS)):
        out[f] = space[f]
