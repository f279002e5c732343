"""GPU kernels of the preconditioner: the weighted covariance of the documents within their queries.

twins/gram.py has them for the CPU. A block has a tile of 64 x 64 features and a share of the documents; a thread has 4
x 4 of them in registers.
"""

import numpy as np

from gpukit._cuda import cuda, device, kernel

F64 = np.float64
U32 = np.uint32
SIDE = 16  # threads per side of a block
PER = 4  # numbers per thread along each side
TILE = SIDE * PER
STEP = 16  # documents staged at a time
PITCH = TILE + 1
NUMBERS = PER * PER


@kernel
def pair_pulls(ranks, level, offsets, weights, pulls):
    """pulls_i = the weight of i's query times its documents of other levels: A'A's diagonal, all pairs active.

    ranks: arrays.Ranks; level (l,) of each document, offsets (m + 1,) int32: of level_tree.LevelTree; weights (m,)
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
