"""Parameter rows as training begins."""

import numpy as np

from gpukit._cuda import cuda, kernel
from gpukit.factorization.solvers.ials.formulas import F32, start_factor

I64, U64 = np.int64, np.uint64


@kernel
def start_side(seed_key, scale, n_factors, starts, table):
    """A side's parameter rows: small random factors where there are clicks; all else, biases too, is 0.

    seed_key uint32; scale float32: first_scale of formulas.py; n_factors int64; starts (rows + 1 or more,) int64: row
    i's clicks are those from starts[i] to starts[i + 1]; table (rows + 1, stride) float32, overwritten.

    Launch: any grid and block; a block walks whole rows.
    Deterministic: yes, exact.
    Source: ours.
    """
    last = I64(table.shape[0]) - I64(1)
    for row in range(I64(cuda.blockIdx.x), I64(table.shape[0]), I64(cuda.gridDim.x)):
        clicked = row < last and starts[U64(row + 1)] > starts[U64(row)]
        for f in range(I64(cuda.threadIdx.x), I64(table.shape[1]), I64(cuda.blockDim.x)):
            wanted = clicked and f < n_factors
            value = start_factor(seed_key, U64(row * n_factors + f), scale) if wanted else F32(0.0)
            table[U64(row), U64(f)] = value
