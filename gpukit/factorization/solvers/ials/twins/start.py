"""CPU twin of kernels/start.py."""

import numpy as np

from gpukit._jit import njit, prange
from gpukit.factorization.solvers.ials.formulas import F32, start_factor

U64 = np.uint64


@njit(parallel=True)
def start_side(seed_key, scale, n_factors, starts, table):
    """Twin of kernels.start.start_side."""
    for row in prange(table.shape[0]):
        clicked = row < table.shape[0] - 1 and starts[row + 1] > starts[row]
        for f in range(table.shape[1]):
            wanted = clicked and f < n_factors
            table[row, f] = start_factor(seed_key, U64(row * n_factors + f), scale) if wanted else F32(0.0)
