"""CPU twin of kernels.py."""

import numpy as np

from gpukit._jit import njit, prange


@njit(parallel=True)
def key_blocks(starts, others, where, blocks, rows, keys):
    """Twin of kernels.key_blocks."""
    for row in prange(rows):
        for t in range(starts[row], starts[row + 1]):
            keys[where[t]] = np.uint64(np.int64(blocks[others[t]]) * rows + row)
