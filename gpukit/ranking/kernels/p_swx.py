"""P-SWX, the paper's GPU kernel for sums over active pairs; twins/p_swx.py has it for the CPU.

Algorithm 2 prints `while x_j in SV_i`, which would end at the first document with a wrong label. Here the margin bounds
the loop (scores are sorted), and the label is tested inside.
"""

import numpy as np

from gpukit._cuda import cuda, device, kernel
from gpukit.ranking.formulas import active
from gpukit.ranking.kernels.rows import THREADS  # also the documents in shared memory at a time

F64 = np.float64
I32 = np.int32
U32 = np.uint32


@device
def _stage(order, scores, level, u, begin, rank, sign, s, c, v, slot):
    """Put the document at this rank of its query into shared memory; sign -1: score and level negated."""
    i = U32(begin + order[U32(begin + rank)])
    s[slot], c[slot], v[slot] = sign * scores[i], I32(sign) * level[i], u[i]


@device
def _add_tile(s, c, v, count, score, level, total):
    """Return total + the sum of v over the tile's documents of a higher level within the margin."""
    j = U32(0)
    while j < count and active(s[j], score):
        total += v[j] if c[j] > level else F64(0.0)
        j += U32(1)
    return total


@device
def _sums(order, scores, level, u, begin, size, sign, s, c, v, out):
    """out_i = sum of u_j over SV_i^+ of one query, or SV_i^- for sign -1, by the block."""
    thread, last = I32(cuda.threadIdx.x), I32(size - 1)
    for first in range(I32(0), size, I32(THREADS)):
        item = first + thread
        rank = min(item, last) if sign > 0 else last - min(item, last)
        i = U32(begin + order[U32(begin + rank)])
        score, own_level, total = sign * scores[i], I32(sign) * level[i], F64(0.0)
        for tile in range(I32(0), size, I32(THREADS)):
            count = min(I32(THREADS), size - I32(tile))
            if thread < count:
                staged = I32(tile) + thread
                _stage(order, scores, level, u, begin, staged if sign > 0 else last - staged, sign, s, c, v, thread)
            cuda.syncthreads()
            total = _add_tile(s, c, v, U32(count), score, own_level, total)
            if not cuda.syncthreads_or(I32(active(s[count - 1], score))):
                break
        if item < size:
            out[i] = total


@kernel
def p_swx(order, scores, level, offsets, u, sums):
    """sums: above_i = sum of u_j over SV_i^+ and below_i over SV_i^- of Eq. (9).

    For u = 1, X v and X w these are beta, alpha and gamma of Eq. (10), from which f, its gradient and the product with
    its Hessian follow, Eq. (11)-(13). O(n) for each of a query's n documents, for any n.
    order (l,) int32: positions in their query of its documents in ascending score; scores (l,) float64;
    level (l,) int32: dense ranks of the labels of a query, 0 the lowest; offsets (m + 1,) int64; u (l,) float64;
    sums: problem.Sums, overwritten.
    Launch: grid m, block 256.   Deterministic: yes.   Source: Jin and Lin 2014, Algorithm 2.
    """
    s = cuda.shared.array(THREADS, np.float64)
    c = cuda.shared.array(THREADS, np.int32)
    v = cuda.shared.array(THREADS, np.float64)
    begin = offsets[cuda.blockIdx.x]
    size = I32(offsets[cuda.blockIdx.x + 1] - begin)
    _sums(order, scores, level, u, begin, size, F64(1.0), s, c, v, sums.above)
    _sums(order, scores, level, u, begin, size, F64(-1.0), s, c, v, sums.below)
