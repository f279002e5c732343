"""Scalar maths of the selection: float32 scores as keys that sort the other way round."""

import numpy as np

from gpukit._jit import njit

U32 = np.uint32
SIGN = U32(0x80000000)
LAST = U32(0xFFFFFFFF)


@njit
def descending_key(score):
    """float32 -> uint32: a larger score has a smaller key; -0 and 0 are equal; NaN comes last (key 2**32 - 1)."""
    value = np.float32(score)
    if value != value:
        return LAST
    if value == np.float32(0.0):
        return U32(SIGN - U32(1))
    pattern = value.view(U32)
    return pattern if pattern & SIGN else U32(U32(~pattern) & U32(~SIGN))


@njit
def score_of_key(key):
    """The inverse of `descending_key` (0 for either zero, NaN for the last key)."""
    key = U32(key)
    pattern = key if key & SIGN else U32(U32(~key) & U32(~SIGN))
    return pattern.view(np.float32)
