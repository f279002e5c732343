"""GPU kernel of the preparation over ranks; twins.py has it for the CPU."""

import numpy as np

from gpukit._cuda import cuda, kernel

U32, U64, I64 = np.uint32, np.uint64, np.int64


@kernel
def key_blocks(starts, others, where, blocks, rows, keys):
    """keys[where[t]] = block * rows + row of rating t: by block of the other side, then by row.

    starts (rows + 1 or more,) int64; others (n,) int32; where (n,) uint32, a permutation; blocks (other rows,) int32;
    rows int64; keys (n,) uint64, overwritten.
    Launch: any grid and block; a block walks whole rows.
    Deterministic: yes, exact.
    Source: ours.
    """
    for row in range(I64(cuda.blockIdx.x), I64(rows), I64(cuda.gridDim.x)):
        for t in range(I64(starts[U64(row)]) + I64(cuda.threadIdx.x), I64(starts[U64(row + 1)]), I64(cuda.blockDim.x)):
            keys[U64(where[U64(t)])] = U64(I64(blocks[U64(others[U64(t)])]) * I64(rows) + row)
