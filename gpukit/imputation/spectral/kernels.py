"""GPU kernels of the imputation; twins.py has their CPU twins. gpukit.svt thresholds slices."""

import numpy as np

from gpukit._cuda import cuda, kernel
from gpukit.imputation.constants import THREADS

ZERO = np.float32(0.0)  # promoted to float64 with a float64 operand


@kernel
def extrapolate(now, before, momentum):
    """Compute before = now + momentum (now - before), number by number.

    now, before (numbers,) float32 or float64; momentum of their type.
    Launch: any grid of one dimension.   Deterministic: yes.   Source: Beck and Teboulle (2009), Eq. (4.3).
    """
    for i in range(cuda.grid(1), now.size, cuda.gridsize(1)):
        before[i] = now[i] + momentum * (now[i] - before[i])


@kernel
def renew(new, hidden, first, now, before, sums):
    """Set columns of the estimate to new where missing, else 0.

    `before` gets the old ones.

    new (rows, columns), now and before (rows, all columns) float32 or float64; hidden (rows, all columns) bool, or
    (1, 1): all is missing; first: new's first column among all; sums (blocks, 2) float64: a block's ||new - old||^2
    and ||new||^2.
    Launch: a grid of `blocks`, block 256.   Deterministic: yes, for a grid.
    Source: Algorithm 1 of the graph-tensor imputation paper, lines 7 and 10.
    """
    parts = cuda.shared.array((2, THREADS), np.float64)
    thread = cuda.threadIdx.x
    change = size = 0.0
    has_mask, columns = hidden.size == now.size, new.shape[1]
    for i in range(cuda.grid(1), new.size, cuda.gridsize(1)):
        row = i // columns
        column = i - row * columns
        place = first + column
        is_present = not has_mask or hidden[row, place]
        value, old = new[row, column] if is_present else ZERO, now[row, place]
        before[row, place], now[row, place] = old, value
        change += np.float64(value - old) * np.float64(value - old)
        size += np.float64(value) * np.float64(value)
    parts[0, thread], parts[1, thread] = change, size
    reach = THREADS // 2
    while reach > 0:
        cuda.syncthreads()
        if thread < reach:
            parts[0, thread] += parts[0, thread + reach]
            parts[1, thread] += parts[1, thread + reach]
        reach //= 2
    if thread == 0:
        sums[cuda.blockIdx.x, 0], sums[cuda.blockIdx.x, 1] = parts[0, 0], parts[1, 0]
