"""Scalar maths that hashes and searches share."""

import numpy as np

from gpukit._jit import njit

U32 = np.uint32
NOBODY = U32(0xFFFFFFFF)  # the key of a pair that cannot be neighbours; as a mask, all bits


@njit
def full_add(a, b, c):
    """One-bit adders on 32 lanes at once: (sum, carry) of a + b + c."""
    half = a ^ b
    return U32(half ^ c), U32((a & b) | (half & c))
