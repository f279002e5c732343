"""Scalar functions of random projections."""

import numpy as np

from gpukit._jit import njit
from gpukit.random import bits

U32 = np.uint32
PAIRS = U32(0x00FF00FF)
HALF = U32(0xFFFF)
MEAN = np.int32(510)  # of the sum of four bytes


@njit
def coordinate(key, user):
    """Return a user's coordinate in the direction of a key: int32 of mean 0 in -510..510, near normal (Irwin-Hall)."""
    word = bits(key, user)
    pairs = U32((word & PAIRS) + ((word >> U32(8)) & PAIRS))
    return np.int32(np.int32(U32((pairs & HALF) + (pairs >> U32(16)))) - MEAN)
