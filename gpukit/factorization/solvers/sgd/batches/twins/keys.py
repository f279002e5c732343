"""Twin of kernels/keys.py."""

import numpy as np

from gpukit._jit import njit, prange

U32, U64 = np.uint32, np.uint64


@njit(parallel=True)
def key_batch(chunks, minor, ranks, keys, slots):
    """Twin of kernels.key_batch."""
    for c in prange(chunks.shape[0]):
        first, length, slot = chunks[c, 1], chunks[c, 2], chunks[c, 3]
        for t in range(length):
            keys[slot + t] = U64(ranks[minor[first + t]])
            slots[slot + t] = U32(slot + t)
