"""GPU kernels of products with X outside the fused pass: X v, X'z, sums of partial rows, the preconditioner's matrix.

twins/matrix.py has them for the CPU. A block of `weighted_gram` has a tile of 64 x 64 features and a share of the
documents; a thread has 4 x 4 of them in registers.
"""

import numpy as np

from gpukit._cuda import cuda, device, factory, kernel
from gpukit.primitives.warp import group_sum
from gpukit.primitives.wide import leave_policy
from gpukit.ranking.kernels.rows import THREADS, add_row, clear, flush, row_dot, stage_vector

F64 = np.float64
I32 = np.int32
U32 = np.uint32


@factory
def make_document_scores(lanes, quads):
    """Return document_scores for `lanes` threads per row with `quads` groups of four numbers each."""
    room = lanes * 4 * quads

    @kernel
    def document_scores(X, w, scores):
        """s = X w in float64.

        X (l, p) float32 or float64, rows padded with zeros to p, a multiple of 4; w (n,) float64, n <= p; scores (l,)
        float64, written.
        Launch: any grid, block 256.   Deterministic: yes.   Source: w' x_i of Eq. (1).
        """
        weights = cuda.shared.array(room, np.float64, 16)
        lane = U32(U32(cuda.threadIdx.x) % U32(lanes))
        stage_vector(w, weights)
        cuda.syncthreads()
        leave = leave_policy()
        rows_a_warp = 32 // lanes
        first = U32(cuda.grid(1) // 32 * rows_a_warp)
        stride = U32(cuda.gridsize(1) // lanes)
        for start in range(first, U32(scores.size), stride):  # equal for the whole warp
            row = U32(start + U32(U32(cuda.threadIdx.x) % U32(32)) // U32(lanes))
            dot = F64(0.0)
            if row < U32(scores.size):
                dot = row_dot(X, row, lane, lanes, quads, weights, F64(0.0), leave)
            dot = group_sum(dot, lanes)
            if row < U32(scores.size) and lane == U32(0):
                scores[row] = dot

    return document_scores


@factory
def make_transposed_product(lanes, quads):
    """Return transposed_product for `lanes` threads per row with `quads` groups of four numbers each."""
    width = 4 * quads
    room = lanes * width

    @kernel
    def transposed_product(X, z, partial):
        """The rows of partial add up to X' z.

        X (l, p) float32 or float64, rows padded with zeros to p, a multiple of 4; z (l,) float64; partial (blocks, n)
        float64, n <= p, written.
        Launch: grid len(partial), block 256.   Deterministic: yes.   Source: X' y of Eq. (7), (8).
        """
        sums = cuda.shared.array(room, np.float64)
        total = cuda.local.array(width, np.float64)
        for e in range(width):
            total[e] = F64(0.0)
        clear(sums)
        leave = leave_policy()
        lane, group = U32(U32(cuda.threadIdx.x) % U32(lanes)), U32(U32(cuda.threadIdx.x) // U32(lanes))
        groups = U32(THREADS // lanes)
        first = U32(U32(cuda.blockIdx.x) * groups + group)
        for row in range(first, U32(z.size), U32(U32(cuda.gridDim.x) * groups)):
            add_row(X, U32(row), lane, lanes, quads, z[U32(row)], total, leave)
        flush(total, lane, lanes, quads, F64(0.0), sums)
        for f in range(U32(cuda.threadIdx.x), U32(partial.shape[1]), U32(THREADS)):
            partial[cuda.blockIdx.x, f] = sums[f]

    return transposed_product


@kernel
def csr_product(A, v, out):
    """out = A v in float64, A a sparse matrix by rows.

    A: problem.Csr, indptr int64, indices int32; v (columns,), out (rows,) float64, out written.
    Launch: grid ceil(32 * rows / 256), block 256: a warp a row.   Deterministic: yes.   Source: none.
    """
    row, lane = cuda.grid(1) // 32, cuda.laneid
    if row >= out.size:
        return
    total = F64(0.0)
    for t in range(A.indptr[row] + lane, A.indptr[row + 1], 32):
        total += F64(A.values[t]) * v[A.indices[t]]
    total = group_sum(total, 32)
    if lane == 0:
        out[row] = total


@kernel
def by_rank(scores, place, keys):
    """keys[place[i]] = scores[i].   scores, keys (l,) float64, keys written; place (l,) int32, a permutation.

    Launch: grid ceil(l / block), any block.   Deterministic: yes, exact.   Source: none.
    """
    i = cuda.grid(1)
    if i < scores.size:
        keys[place[i]] = scores[i]


@kernel
def pad_rows(X, out):
    """out = X, with zeros behind each row.   X (l, n), out (l, p) float32 or float64, p >= n, written.

    Launch: any grid, any block.   Deterministic: yes, exact.   Source: none.
    """
    columns = np.int64(out.shape[1])
    for index in range(cuda.grid(1), np.int64(out.shape[0]) * columns, cuda.gridsize(1)):
        row = index // columns
        column = index - row * columns
        if column < X.shape[1]:
            out[row, column] = X[row, column]
        else:
            out[row, column] = 0


@factory
def make_add_rows(width, height):
    """Return add_rows for blocks of (width, height) threads, height a power of two; tall blocks for many rows."""
    half = height // 2

    @kernel
    def add_rows(partial, total):
        """total = the sum of the rows of partial.

        partial (rows, columns) float64; total (columns,) float64, written.
        Launch: grid ceil(columns / width), block (width, height).   Deterministic: yes.   Source: none.
        """
        sums = cuda.shared.array((height, width), np.float64)
        x, y = cuda.threadIdx.x, cuda.threadIdx.y
        column = cuda.blockIdx.x * width + x
        running = F64(0.0)
        if column < total.size:
            for row in range(y, partial.shape[0], height):
                running += partial[row, column]
        sums[y, x] = running
        cuda.syncthreads()
        reach = half
        while reach:
            if y < reach:
                sums[y, x] += sums[y + reach, x]
            cuda.syncthreads()
            reach //= 2
        if y == 0 and column < total.size:
            total[column] = sums[0, x]

    return add_rows


SIDE = 16  # threads per side of a block
PER = 4  # numbers per thread along each side
TILE = SIDE * PER
STEP = 16  # documents staged at a time
PITCH = TILE + 1
NUMBERS = PER * PER


@kernel
def pair_pulls(ranks, level, offsets, weights, pulls):
    """pulls_i = the weight of i's query times its documents of other levels: A'A's diagonal, all pairs active.

    ranks: problem.Ranks; level (l,) of each document, offsets (m + 1,) int32: of problem.LevelTree; weights (m,)
    float64; pulls (l,) float64, written.
    Launch: grid ceil(l / block), any block.   Deterministic: yes.   Source: beta+ + beta- of Eq. (5) at w = 0.
    """
    i = cuda.grid(1)
    if i < pulls.size:
        t = ranks.query[i]  # ranks of a query are its documents
        group = ranks.first_group[t] + level[i]
        same = ranks.group_starts[group + 1] - ranks.group_starts[group]
        pulls[i] = weights[t] * F64(offsets[t + 1] - offsets[t] - same)


@kernel
def query_means(X, offsets, pulls, means):
    """means[t] = sum of pulls_i x_i over query t / sum of pulls_i; 0 for a query without pairs.

    X (l, p) float32 or float64; offsets (m + 1,) int32; pulls (l,) float64 >= 0; means (m, n) float64, n <= p, written.
    Launch: grid m, or (m, any); any block.   Deterministic: yes.   Source: the centre of a weighted covariance.
    """
    t = cuda.blockIdx.x
    first = cuda.blockIdx.y * cuda.blockDim.x + cuda.threadIdx.x
    for f in range(first, means.shape[1], cuda.blockDim.x * cuda.gridDim.y):
        total = weight = F64(0.0)
        for i in range(offsets[t], offsets[t + 1]):
            total += pulls[i] * F64(X[U32(i), U32(f)])
            weight += pulls[i]
        means[t, f] = total / weight if weight > F64(0.0) else F64(0.0)


@device
def _stage(X, means, query, pulls, first, feature, thread, with_pull, rows):
    """rows[k, c] = x - mean of document first + k and feature `feature` + c, optionally times its pull."""
    for step in range(STEP * TILE // (SIDE * SIDE)):
        slot = U32(thread + U32(step * SIDE * SIDE))
        k, c = U32(slot // U32(TILE)), U32(slot % U32(TILE))
        i, f = U32(first + k), U32(feature + c)
        value = F64(0.0)
        if i < U32(pulls.size) and f < U32(means.shape[1]):
            value = F64(X[i, f]) - means[U32(query[i]), f]
            value *= pulls[i] if with_pull else F64(1.0)
        rows[k, c] = value


@kernel
def weighted_gram(X, means, query, pulls, tiles, partial):
    """partial[b] = sum over the documents of share b of pulls_i (x_i - mean)(x_i - mean)'; the whole matrix.

    X (l, p) float32 or float64; means (m, n) float64, n <= p; query (l,) int32; pulls (l,) float64 >= 0; tiles (T, 2)
    int32: pairs (a, b), a <= b < ceil(n / 64), all of them; partial (shares, n, n) float64, written.
    Launch: grid (T, shares), block 256.   Deterministic: yes.
    Source: an upper bound, up to a rank-one part a query, of the generalized Hessian's X' A'A X (Eq. 8) at w = 0.
    """
    left = cuda.shared.array((STEP, PITCH), np.float64)
    right = cuda.shared.array((STEP, PITCH), np.float64)
    total = cuda.local.array(NUMBERS, np.float64)
    thread = U32(cuda.threadIdx.x)
    x, y = U32(thread % U32(SIDE)), U32(thread // U32(SIDE))
    row0, column0 = U32(tiles[cuda.blockIdx.x, 0] * TILE), U32(tiles[cuda.blockIdx.x, 1] * TILE)
    for e in range(NUMBERS):
        total[e] = F64(0.0)
    for first in range(U32(cuda.blockIdx.y * STEP), U32(pulls.size), U32(cuda.gridDim.y * STEP)):
        _stage(X, means, query, pulls, U32(first), row0, thread, True, left)
        _stage(X, means, query, pulls, U32(first), column0, thread, False, right)
        cuda.syncthreads()
        for k in range(U32(0), U32(STEP)):
            for i in range(PER):
                value = left[k, U32(y + U32(SIDE * i))]
                for j in range(PER):
                    total[PER * i + j] += value * right[k, U32(x + U32(SIDE * j))]
        cuda.syncthreads()
    n = U32(means.shape[1])
    for i in range(PER):
        for j in range(PER):
            row, column = U32(row0 + y + U32(SIDE * i)), U32(column0 + x + U32(SIDE * j))
            if row <= column and column < n:  # a tile on the diagonal has the same products twice, rounded differently
                partial[U32(cuda.blockIdx.y), row, column] = total[PER * i + j]
                partial[U32(cuda.blockIdx.y), column, row] = total[PER * i + j]
