"""The ratings of a batch by minor row."""

import numpy as np

from gpukit._cuda import cuda, kernel

U32, U64, I64 = np.uint32, np.uint64, np.int64


@kernel
def key_batch(chunks, minor, ranks, keys, slots):
    """keys[slot] = rank of the minor row, slots[slot] = slot, for the ratings of a batch.

    chunks (n, 5) int64: row, first rating, ratings, first slot, any; minor (all ratings,) int32; ranks (minor rows,)
    int32; keys uint64 and slots uint32 (ratings of the batch,), overwritten.
    Launch: any grid and block; a block processes whole chunks.
    Deterministic: yes, exact.
    Source: ours.
    """
    for c in range(I64(cuda.blockIdx.x), I64(chunks.shape[0]), I64(cuda.gridDim.x)):
        first, length, slot = chunks[U64(c), 1], chunks[U64(c), 2], chunks[U64(c), 3]
        for t in range(I64(cuda.threadIdx.x), length, I64(cuda.blockDim.x)):
            keys[U64(slot + t)] = U64(ranks[U32(minor[U64(first + t)])])
            slots[U64(slot + t)] = U32(slot + t)
