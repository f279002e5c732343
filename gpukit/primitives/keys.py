"""Sort keys: floating-point numbers as integers in the same or the reverse order, for both devices."""

import numpy as np

from gpukit._jit import njit

U32 = np.uint32
SIGN = U32(0x80000000)
LAST = U32(0xFFFFFFFF)
U64 = np.uint64
SIGN_64 = U64(1 << 63)
LAST_64 = U64((1 << 64) - 1)


@njit
def turned(pattern):
    """Map bit patterns of floats in descending order to ascending integers, and back (an involution)."""
    if pattern & SIGN:
        return U32(pattern)
    return U32(U32(~pattern) & U32(0x7FFFFFFF))


@njit
def descending_key(score):
    """Map float32 to uint32: larger scores get smaller keys, -0 equals 0, NaN is last (2**32 - 1)."""
    pattern = np.float32(score).view(U32)
    size = pattern & U32(0x7FFFFFFF)
    if size > U32(0x7F800000):
        return LAST
    if size == U32(0):
        return U32(0x7FFFFFFF)
    return turned(pattern)


@njit
def score_of_key(key):
    """Invert `descending_key`: 0 for either zero, NaN for the last key."""
    return U32(turned(U32(key))).view(np.float32)


@njit
def ascending_key(pattern):
    """Map the bits of a float64 (uint64) to a uint64 in the order of the numbers; -0 equals 0.

    The bits of a float32 go into the upper half, and the lower half of its key is meaningless.
    """
    key = U64(~pattern) if pattern & SIGN_64 else U64(pattern | SIGN_64)
    return SIGN_64 if key == U64(SIGN_64 - U64(1)) else key
