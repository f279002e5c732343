"""GPU kernels of a pass over the queries: the product with the Hessian, or the gradient and the loss, in one reading of X.

twins_pass.py has them for the CPU. A block walks a list of queries, one after the other. `lanes` threads share a row of
X, each with `quads` quads of it; v and the running X'z stay in their registers for the whole walk, the query's u, prefix
sums and z in shared memory (or, for queries too long for it, in a workspace).
"""

import functools

import numpy as np

from gpukit._cuda import cuda, device, kernel
from gpukit.primitives.scan import block_prefix
from gpukit.primitives.warp import group_sum
from gpukit.ranking.formulas import loss_share
from gpukit.ranking.lanes import THREADS, WARPS, add_lanes, add_row, load_vector, row_dot

F64 = np.float64
I32 = np.int32
U32 = np.uint32


@device
def _prefix_sums(table, begin, size, space, sums):
    """space[sums + r] = sum of u (space[:size]) over the first r documents in the plane's order, by the block."""
    thread = I32(cuda.threadIdx.x)
    share = (size + I32(THREADS) - I32(1)) // I32(THREADS)
    low, high = min(thread * share, size), min(thread * share + share, size)
    own = F64(0.0)
    for r in range(low, high):
        own += space[U32(table[0, U32(begin + r)])]
    running = block_prefix(own, WARPS)
    for r in range(low, high):
        space[U32(sums + r)] = running
        running += space[U32(table[0, U32(begin + r)])]
    if low < high and high == size:
        space[U32(sums + size)] = running


@device
def _subtract_partners(table, begin, size, space, sums, z):
    """space[z + i] -= the partners' sum of u in one plane."""
    for i in range(I32(cuda.threadIdx.x), size, I32(THREADS)):
        total = F64(0.0)
        for slot in range(table.shape[0] // 2):
            a = U32(table[U32(1 + 2 * slot), U32(begin + i)])
            b = U32(table[U32(2 + 2 * slot), U32(begin + i)])
            total += space[U32(U32(sums) + max(a, b))] - space[U32(U32(sums) + min(a, b))]
        space[U32(z + i)] -= total


@device
def _pair_sums(margin, begin, size, height, tables, counts, weight, space, sums, z):
    """space[z:] = weight * (A'A u - margin A'e) from u = space[:size]; the thread's share of the loss."""
    for i in range(I32(cuda.threadIdx.x), size, I32(THREADS)):
        space[U32(z + i)] = F64(counts[0, U32(begin + i)]) * space[U32(i)]
    for plane in range(height):
        _prefix_sums(tables[plane], begin, size, space, sums)
        cuda.syncthreads()
        _subtract_partners(tables[plane], begin, size, space, sums, z)
        cuda.syncthreads()
    total = F64(0.0)
    for i in range(I32(cuda.threadIdx.x), size, I32(THREADS)):
        count, difference = F64(counts[0, U32(begin + i)]), F64(counts[1, U32(begin + i)])
        product = space[U32(z + i)]
        total += loss_share(space[U32(i)], product, margin, count, difference)
        space[U32(z + i)] = weight * (product - margin * difference)
    return weight * total


@functools.cache
def make_pair_product(lanes, quads, capacity):
    """pair_product for `lanes` threads a row, `quads` quads each, and queries of at most `capacity` documents.

    capacity 0: u, sums and z lie in the workspace. Else 3 * capacity must be more than n.
    """
    width, size_of_space = 4 * quads, 3 * capacity + 1

    @kernel
    def pair_product(X, v, margin, offsets, queries, firsts, heights, tables, counts, weights, partial, workspace):
        """X' W (A'A X v - margin A'e) and v'X' W (A'A X v - 2 margin A'e) + margin p_w, in one reading of X.

        margin 0: Eq. (8)'s product; margin 1 and v = w: Eq. (7)'s gradient and Eq. (6)'s loss, without 2 C and w.
        X (l, p) float32 or float64, rows padded with zeros to p, a multiple of 4; v (n,) float64, n <= p; margin float64;
        offsets (m + 1,) int32; queries (q,) int32: those with pairs, block after block; firsts (blocks + 1,) int32;
        heights (m,) int32, tables (H, 2 A - 1, l) uint16 or int32, counts (2, l) int32: see kernels_tree.search_plane;
        weights (m,) float64 of the queries; partial (blocks, n + 1) float64, written; workspace (blocks, 3 cap + 1)
        float64, used when no shared memory is.
        Launch: grid len(firsts) - 1, block 256.   Deterministic: yes.
        Source: Eq. (5)-(8) of Jin and Lin 2014; sums by level after Lee and Lin 2014.
        """
        space = cuda.shared.array(size_of_space, np.float64) if capacity else workspace[cuda.blockIdx.x]
        direction = cuda.local.array(width, np.float64)
        total = cuda.local.array(width, np.float64)
        cap = I32(capacity) if capacity else I32((workspace.shape[1] - 1) // 3)
        lane, group = U32(U32(cuda.threadIdx.x) % U32(lanes)), I32(U32(cuda.threadIdx.x) // U32(lanes))
        groups = I32(THREADS // lanes)
        load_vector(v, lane, lanes, quads, direction)
        for e in range(width):
            total[e] = F64(0.0)
        value = F64(0.0)
        for at in range(firsts[cuda.blockIdx.x], firsts[cuda.blockIdx.x + 1]):
            t = queries[at]
            begin, size = offsets[t], offsets[t + 1] - offsets[t]
            for start in range(0, size, groups):  # the same for the whole block, as shuffles need
                i = I32(start) + group
                dot = F64(0.0)
                if i < size:
                    dot = row_dot(X, begin + i, lane, lanes, quads, direction)
                dot = group_sum(dot, lanes)
                if i < size and lane == U32(0):
                    space[U32(i)] = dot
            cuda.syncthreads()
            value += _pair_sums(margin, begin, size, heights[t], tables, counts, weights[t], space, cap,
                                I32(2) * cap + I32(1))
            cuda.syncthreads()
            for i in range(group, size, groups):
                factor = space[U32(I32(2) * cap + I32(1) + I32(i))]
                add_row(X, begin + I32(i), lane, lanes, quads, factor, total)
            cuda.syncthreads()
        add_lanes(space, lane, lanes, quads, total, value, v.size, partial[cuda.blockIdx.x])

    return pair_product


@functools.cache
def make_pair_sums(capacity):
    """pair_sums for queries of at most `capacity` documents; 0: of any length, through the workspace."""
    size_of_space = 3 * capacity + 1

    @kernel
    def pair_sums(u, margin, offsets, queries, firsts, heights, tables, counts, weights, z, loss, workspace):
        """z = W (A'A u - margin A'e), and its part in the loss: what lies between X v and X' z.

        u, z (l,) float64, z written where a query has pairs; loss (blocks,) float64, written: the rows add up to
        pair_product's last number; the other arguments are pair_product's.
        Launch: grid len(firsts) - 1, block 256.   Deterministic: yes.   Source: Eq. (5)-(8) of Jin and Lin 2014.
        """
        space = cuda.shared.array(size_of_space, np.float64) if capacity else workspace[cuda.blockIdx.x]
        cap = I32(capacity) if capacity else I32((workspace.shape[1] - 1) // 3)
        sums = cuda.shared.array(WARPS, np.float64)
        value = F64(0.0)
        for at in range(firsts[cuda.blockIdx.x], firsts[cuda.blockIdx.x + 1]):
            t = queries[at]
            begin, size = offsets[t], offsets[t + 1] - offsets[t]
            for i in range(I32(cuda.threadIdx.x), size, I32(THREADS)):
                space[U32(i)] = u[U32(begin + i)]
            cuda.syncthreads()
            value += _pair_sums(margin, begin, size, heights[t], tables, counts, weights[t], space, cap,
                                I32(2) * cap + I32(1))
            cuda.syncthreads()
            for i in range(I32(cuda.threadIdx.x), size, I32(THREADS)):
                z[U32(begin + i)] = space[U32(I32(2) * cap + I32(1) + I32(i))]
            cuda.syncthreads()
        value = group_sum(value, 32)
        if cuda.laneid == 0:
            sums[cuda.threadIdx.x // 32] = value
        cuda.syncthreads()
        if cuda.threadIdx.x == 0:
            total = F64(0.0)
            for warp in range(WARPS):
                total += sums[warp]
            loss[cuda.blockIdx.x] = total

    return pair_sums


@kernel
def combine(u, margin, above, below, plus, minus, weights, z, loss):
    """z = W (A'A u - margin A'e) and its parts in the loss, from sums that are already there.

    u (l,) float64; margin float64; above = beta+, below = beta-, plus = alpha+, minus = alpha- of Eq. (5) for u, weights
    of each document's query: (l,) float64; z, loss (l,) float64, written; loss adds up to pair_product's last number.
    Launch: grid ceil(l / block), any block.   Deterministic: yes.   Source: Eq. (6)-(8) of Jin and Lin 2014.
    """
    i = cuda.grid(1)
    if i < u.size:
        count, difference = above[i] + below[i], below[i] - above[i]
        product = count * u[i] - plus[i] - minus[i]
        loss[i] = weights[i] * loss_share(u[i], product, margin, count, difference)
        z[i] = weights[i] * (product - margin * difference)
