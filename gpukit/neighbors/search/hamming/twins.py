"""CPU twin of kernels.py: the same name, the same arguments in the same order, the same integers."""

import numpy as np

from gpukit._jit import njit, prange
from gpukit.neighbors.formulas import NOBODY

U32 = np.uint32
ROWS = 8  # query rows that share one pass over the items' codes


@njit
def popcount(x):
    """Set bits of a word (the form that LLVM turns into a vector instruction)."""
    x = U32(x - ((x >> U32(1)) & U32(0x55555555)))
    x = U32((x & U32(0x33333333)) + ((x >> U32(2)) & U32(0x33333333)))
    x = U32(U32(x + (x >> U32(4))) & U32(0x0F0F0F0F))
    return U32(U32(x * U32(0x01010101)) >> U32(24))


@njit
def differing_bits(a, b):
    """The Hamming distance of two codes."""
    distance = U32(0)
    for w in range(a.size):
        distance += popcount(a[w] ^ b[w])
    return distance


@njit(parallel=True)
def hamming_distances(codes, rated, first, keys):
    """Twin of kernels.hamming_distances."""
    n_rows = keys.shape[0]
    for group in prange((n_rows + ROWS - 1) // ROWS):
        for item in range(codes.shape[0]):
            for row in range(group * ROWS, min(group * ROWS + ROWS, n_rows)):
                query = first + row
                wanted = rated[item] and rated[query] and item != query
                keys[row, item] = differing_bits(codes[query], codes[item]) if wanted else NOBODY
