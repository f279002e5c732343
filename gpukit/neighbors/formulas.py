"""Scalar functions of hashes and searches."""

import numpy as np

from gpukit._jit import njit

U32 = np.uint32
NOBODY = U32(0xFFFFFFFF)  # the key of a pair that cannot be neighbours; as a mask, all bits


@njit
def full_add(a, b, c):
    """One-bit adders on 32 lanes: (sum, carry) of a + b + c."""
    half = a ^ b
    return U32(half ^ c), U32((a & b) | (half & c))


@njit
def bit_length(x):
    """Number of bits of a nonnegative integer."""
    n = 0
    while x >> n:
        n += 1
    return n
