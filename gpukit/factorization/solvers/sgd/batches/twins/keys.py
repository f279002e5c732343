"""Twin of kernels/keys.py."""

import numpy as np

from gpukit.scheduler import by_block

U32, U64 = np.uint32, np.uint64


@by_block(lambda chunks: chunks.shape[0])
def key_batch(start, stop, chunks, minor, ranks, keys, slots):
    """Twin of kernels.key_batch."""
    for c in range(start, stop):
        first, length, slot = chunks[c, 1], chunks[c, 2], chunks[c, 3]
        for t in range(length):
            keys[slot + t] = U64(ranks[minor[first + t]])
            slots[slot + t] = U32(slot + t)
