"""Device functions of the thresholding: vectors in shared or global memory, held by groups of lanes.

`space` is one row of numbers; vector v has space[v * pitch :], its first lanes * count numbers are used. Lane l of a
group has the quads l, l + lanes, ... of a vector. `real` is the type of the numbers; count is constant at compile time.
"""

import numpy as np

from gpukit._cuda import cuda, device
from gpukit.primitives.warp import group_max

U32 = np.uint32
FULL = U32(0xFFFFFFFF)


@device
def load(space, vector, pitch, lane, lanes, count, out, place):
    """out[place * count:] = the lane's numbers of a vector."""
    first = U32(U32(vector * U32(pitch)) + U32(lane * U32(4)))
    for i in range(count // 4):
        at = U32(first + U32(4 * i * lanes))
        for e in range(4):
            out[place * count + 4 * i + e] = space[U32(at + U32(e))]


@device
def store(space, vector, pitch, lane, lanes, count, values, place):
    """A vector's numbers = what its lanes hold in values[place * count:]."""
    first = U32(U32(vector * U32(pitch)) + U32(lane * U32(4)))
    for i in range(count // 4):
        at = U32(first + U32(4 * i * lanes))
        for e in range(4):
            space[U32(at + U32(e))] = values[place * count + 4 * i + e]


@device
def dot(v, x, w, y, count):
    """The lane's part of x'y, x at v[x * count:], y at w[y * count:]; two sums, so that none waits for the last."""
    x, y = x * count, y * count
    a, b = v[x] * w[y], v[x + 1] * w[y + 1]
    for i in range(2, count, 2):
        a += v[x + i] * w[y + i]
        b += v[x + i + 1] * w[y + i + 1]
    return a + b


@device
def sum_two(a, b, lane, lanes):
    """The sums over a group of a, for even lanes, and of b, for odd ones."""
    odd = (lane & U32(1)) == U32(1)
    mine = (b if odd else a) + cuda.shfl_xor_sync(FULL, a if odd else b, 1)
    reach = 2
    while reach < lanes:
        mine += cuda.shfl_xor_sync(FULL, mine, reach)
        reach *= 2
    return mine


@device
def sum_four(a, b, c, d, lane, lanes):
    """The sums over a group of a, b, c, d, for lanes 0, 1, 2, 3 and those 4, 8, ... further on."""
    odd, high = (lane & U32(1)) == U32(1), (lane & U32(2)) == U32(2)
    low = (b if odd else a) + cuda.shfl_xor_sync(FULL, a if odd else b, 1)
    top = (d if odd else c) + cuda.shfl_xor_sync(FULL, c if odd else d, 1)
    mine = (top if high else low) + cuda.shfl_xor_sync(FULL, low if high else top, 2)
    reach = 4
    while reach < lanes:
        mine += cuda.shfl_xor_sync(FULL, mine, reach)
        reach *= 2
    return mine


@device
def block_max(value, warps, parts):
    """The largest value of the block's threads; parts (warps,) in shared memory. All threads must arrive."""
    value = group_max(value, 32)
    cuda.syncthreads()
    if U32(cuda.laneid) == U32(0):
        parts[U32(U32(cuda.threadIdx.x) >> U32(5))] = value
    cuda.syncthreads()
    for other in range(warps):
        value = max(value, parts[other])
    return value


@device
def largest_of(values, size):
    """(index, value) of the largest of values[:size], equal ones by the lower index; every warp finds the same."""
    lane = U32(cuda.laneid)
    where, best = lane, values[lane] if lane < size else values[0]
    where = lane if lane < size else U32(0)
    for i in range(U32(lane + U32(32)), size, U32(32)):
        value = values[U32(i)]
        where, best = (U32(i) if value > best else where), max(value, best)
    reach = 1
    while reach < 32:
        other, index = cuda.shfl_xor_sync(FULL, best, reach), U32(cuda.shfl_xor_sync(FULL, np.int32(where), reach))
        take = (other > best) | ((other == best) & (index < where))
        where, best = (index if take else where), (other if take else best)
        reach *= 2
    return where, best
