"""Products and steps of conjugate gradients on a GPU; twins.py has their CPU twins."""

import numpy as np

from gpukit._cuda import cuda, kernel
from gpukit.imputation.constants import THREADS
from gpukit.imputation.smoothness.formulas import pull, step_along
from gpukit.primitives.block import block_sum

WARPS = THREADS // 32
ZERO = np.float32(0.0)


@kernel
def differ(x, seen, gaps, lags, near, steady, together, shared, own):
    """Compute the products in time: own = M x + sum b_k D_k x, shared = a x + sum c_k D_k x.

    x (N, T) float32; seen (N, T) bool: M; gaps (T,) float32: the weight of the difference of a column and the next one;
    lags (K,) int32: distances of columns, the first 1, which alone has gaps; near: a; steady, together (K,) float32:
    b_k, c_k; shared, own (N, T) float32, overwritten.
    Launch: any grid of one dimension.   Deterministic: yes.   Source: the package's page.
    """
    columns = x.shape[1]
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        v = i // columns
        t = i - v * columns
        here = x[v, t]
        mine, theirs = here if seen[v, t] else ZERO, near * here
        for k in range(lags.size):
            lag, change = lags[k], ZERO
            if t >= lag:
                change += pull(here, x[v, t - lag], gaps[t - 1] if k == 0 else np.float32(1.0))
            if t + lag < columns:
                change += pull(here, x[v, t + lag], gaps[t] if k == 0 else np.float32(1.0))
            mine, theirs = step_along(mine, steady[k], change), step_along(theirs, together[k], change)
        own[v, t], shared[v, t] = mine, theirs


@kernel
def spread(shared, own, first, neighbors, weights, direction, image, sums):
    """Compute the product on the graph, image = own + L shared, and its product with the direction.

    shared, own, direction (N, T) float32; first (N + 1,) int32, neighbors (E,) int32, weights (E,) float32: the rows
    of L; image (N, T) float32, overwritten; sums (blocks,) float64: a block's part of direction . image.
    Launch: a grid of `blocks`, block 256.   Deterministic: yes, for a grid.   Source: the package's page.
    """
    parts = cuda.shared.array(WARPS, np.float64)
    columns, total = shared.shape[1], np.float64(0.0)
    for i in range(cuda.grid(1), shared.size, cuda.gridsize(1)):
        v = i // columns
        t = i - v * columns
        value = own[v, t]
        for edge in range(first[v], first[v + 1]):
            value = step_along(value, weights[edge], shared[neighbors[edge], t])
        image[v, t] = value
        total += np.float64(value) * np.float64(direction[v, t])
    total = block_sum(total, WARPS, parts)
    if cuda.threadIdx.x == 0:
        sums[cuda.blockIdx.x] = total


@kernel
def advance(length, direction, image, inverse, x, residual, scaled, sums):
    """Run a step: x += length direction, residual -= length image, scaled = inverse residual.

    length: a float32; direction, image, inverse, x, residual, scaled (N T,) float32; inverse: 1 over the diagonal;
    sums (blocks,) float64: a block's part of residual . scaled.
    Launch: a grid of `blocks`, block 256.   Deterministic: yes, for a grid.   Source: Hestenes and Stiefel (1952).
    """
    parts, total = cuda.shared.array(WARPS, np.float64), np.float64(0.0)
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        x[i] = step_along(x[i], length, direction[i])
        left = step_along(residual[i], -length, image[i])
        small = inverse[i] * left
        residual[i], scaled[i] = left, small
        total += np.float64(left) * np.float64(small)
    total = block_sum(total, WARPS, parts)
    if cuda.threadIdx.x == 0:
        sums[cuda.blockIdx.x] = total


@kernel
def redirect(share, scaled, direction):
    """Compute direction = scaled + share direction.

    share: a float32; scaled, direction (N T,) float32.
    Launch: any grid of one dimension.   Deterministic: yes.   Source: Hestenes and Stiefel (1952).
    """
    for i in range(cuda.grid(1), direction.size, cuda.gridsize(1)):
        direction[i] = step_along(scaled[i], share, direction[i])
