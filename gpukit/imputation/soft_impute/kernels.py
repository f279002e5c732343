"""Momentum of soft-impute on a GPU; twins.py has its CPU twins."""

import numpy as np

from gpukit._cuda import cuda, kernel
from gpukit.imputation.constants import THREADS
from gpukit.primitives.block import block_sum

WARPS = THREADS // 32


@kernel
def compare(estimate, before, ahead, sums):
    """Compute the products that determine the momentum.

    With change = estimate - before: (ahead - estimate) . change, change . change and estimate . estimate.
    estimate, before, ahead (n m,) float32; sums (blocks, 3) float64, overwritten: a block's parts of the products.
    Launch: a grid of `blocks`, block THREADS.   Deterministic: yes, for a grid.
    Source: O'Donoghue, Candes, Found. Comput. Math. 15 (2015), the gradient scheme.
    """
    one, two = cuda.shared.array(WARPS, np.float64), cuda.shared.array(WARPS, np.float64)
    three = cuda.shared.array(WARPS, np.float64)
    back, moved, size = np.float64(0.0), np.float64(0.0), np.float64(0.0)
    for i in range(cuda.grid(1), estimate.size, cuda.gridsize(1)):
        here = estimate[i]
        change = np.float64(here - before[i])
        back += np.float64(ahead[i] - here) * change
        moved += change * change
        size += np.float64(here) * np.float64(here)
    back, moved, size = block_sum(back, WARPS, one), block_sum(moved, WARPS, two), block_sum(size, WARPS, three)
    if cuda.threadIdx.x == 0:
        sums[cuda.blockIdx.x, 0], sums[cuda.blockIdx.x, 1], sums[cuda.blockIdx.x, 2] = back, moved, size


@kernel
def proceed(estimate, before, known, seen, momentum, ahead):
    """Compute ahead = known where seen, elsewhere estimate + momentum (estimate - before).

    estimate, before, known, ahead (n m,) float32, seen (n m,) bool; momentum: a float32.
    Launch: any grid of one dimension, a thread a number.   Deterministic: yes.   Source: Beck, Teboulle (2009).
    """
    for i in range(cuda.grid(1), ahead.size, cuda.gridsize(1)):
        ahead[i] = known[i] if seen[i] else estimate[i] + momentum * (estimate[i] - before[i])
