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
from gpukit.ranking.lanes import THREADS, WARPS, add_row, block_sum, clear, flush, row_dot, stage_vector

F64 = np.float64
U32 = np.uint32
PATIENCE = 64  # rows that a thread adds up in float32 before the sum moves on to float64


@device
def _prefix_sums(table, begin, size, space, sums):
    """space[sums + r] = sum of u (space[:size]) over the first r documents in the plane's order, by the block."""
    share = U32(U32(size + U32(THREADS - 1)) // U32(THREADS))
    low = min(U32(U32(cuda.threadIdx.x) * share), size)
    high = min(U32(low + share), size)
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
    for i in range(U32(cuda.threadIdx.x), size, U32(THREADS)):
        total, document = F64(0.0), U32(begin + i)
        for slot in range(U32(1), U32(table.shape[0]), U32(2)):
            a, b = U32(table[slot, document]), U32(table[U32(slot + U32(1)), document])
            total += space[U32(sums + max(a, b))] - space[U32(sums + min(a, b))]
        space[U32(z + i)] -= total


@device
def _pair_sums(margin, begin, size, height, tables, counts, weight, space, sums, z):
    """space[z:] = weight * (A'A u - margin A'e) from u = space[:size]; the thread's share of the loss."""
    for i in range(U32(cuda.threadIdx.x), size, U32(THREADS)):
        space[U32(z + i)] = F64(counts[0, U32(begin + i)]) * space[i]
    for plane in range(U32(0), U32(height)):
        _prefix_sums(tables[plane], begin, size, space, sums)
        cuda.syncthreads()
        _subtract_partners(tables[plane], begin, size, space, sums, z)
        cuda.syncthreads()
    total = F64(0.0)
    for i in range(U32(cuda.threadIdx.x), size, U32(THREADS)):
        count, difference = F64(counts[0, U32(begin + i)]), F64(counts[1, U32(begin + i)])
        product = space[U32(z + i)]
        total += loss_share(space[i], product, margin, count, difference)
        space[U32(z + i)] = weight * (product - margin * difference)
    return weight * total


@functools.cache
def make_pair_product(lanes, quads, capacity, exact, registers=None):
    """pair_product for `lanes` threads a row, `quads` quads each, and queries of at most `capacity` documents.

    capacity 0: u, sums and z lie in the workspace. exact: products with X in float64; else in float32, up to PATIENCE
    rows of a thread at a time, all sums over documents in float64.
    """
    width, size_of_space, room = 4 * quads, 3 * capacity + 1, lanes * 4 * quads
    real = np.float64 if exact else np.float32

    @kernel(max_registers=registers)
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
        sums = cuda.shared.array(room, np.float64)
        direction = cuda.shared.array(room, real, 16)
        total = cuda.local.array(width, real)
        cap = U32(capacity) if capacity else U32(U32(workspace.shape[1] - 1) // U32(3))
        lane, group = U32(U32(cuda.threadIdx.x) % U32(lanes)), U32(U32(cuda.threadIdx.x) // U32(lanes))
        groups, z = U32(THREADS // lanes), U32(U32(2) * cap + U32(1))
        for e in range(width):
            total[e] = real(0.0)
        stage_vector(v, direction)
        clear(sums)
        value, rows = F64(0.0), U32(0)
        for at in range(firsts[cuda.blockIdx.x], firsts[cuda.blockIdx.x + 1]):
            t = U32(queries[at])
            begin, size = U32(offsets[t]), U32(offsets[t + U32(1)] - offsets[t])
            for start in range(U32(0), size, groups):  # the same for the whole block, as shuffles need
                i = U32(start + group)
                dot = real(0.0)
                if i < size:
                    dot = row_dot(X, U32(begin + i), lane, lanes, quads, direction, real(0.0))
                dot = group_sum(dot, lanes)
                if i < size and lane == U32(0):
                    space[i] = F64(dot)
            cuda.syncthreads()
            value += _pair_sums(margin, begin, size, heights[t], tables, counts, weights[t], space, cap, z)
            cuda.syncthreads()
            for i in range(group, size, groups):
                add_row(X, U32(begin + i), lane, lanes, quads, real(space[U32(z + i)]), total)
            rows = U32(rows + size)
            if rows > U32(groups * U32(PATIENCE)):
                flush(total, lane, lanes, quads, real(0.0), sums)
                rows = U32(0)
            cuda.syncthreads()
        flush(total, lane, lanes, quads, real(0.0), sums)
        value = block_sum(value)
        for f in range(U32(cuda.threadIdx.x), U32(v.size), U32(THREADS)):
            partial[cuda.blockIdx.x, f] = sums[f]
        if cuda.threadIdx.x == 0:
            partial[cuda.blockIdx.x, v.size] = value

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
        cap = U32(capacity) if capacity else U32(U32(workspace.shape[1] - 1) // U32(3))
        value, first, after = F64(0.0), U32(cuda.threadIdx.x), U32(U32(2) * cap + U32(1))
        for at in range(firsts[cuda.blockIdx.x], firsts[cuda.blockIdx.x + 1]):
            t = U32(queries[at])
            begin, size = U32(offsets[t]), U32(offsets[t + U32(1)] - offsets[t])
            for i in range(first, size, U32(THREADS)):
                space[i] = u[U32(begin + i)]
            cuda.syncthreads()
            value += _pair_sums(margin, begin, size, heights[t], tables, counts, weights[t], space, cap, after)
            cuda.syncthreads()
            for i in range(first, size, U32(THREADS)):
                z[U32(begin + i)] = space[U32(after + i)]
            cuda.syncthreads()
        value = block_sum(value)
        if cuda.threadIdx.x == 0:
            loss[cuda.blockIdx.x] = value

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
