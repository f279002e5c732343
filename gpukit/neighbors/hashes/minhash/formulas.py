"""Scalar maths of minHash: which hashing a bit belongs to, and the bits of its value."""

import numpy as np

from gpukit._jit import njit
from gpukit.random import bits

U32 = np.uint32
NONE = U32(0xFFFFFFFF)  # the value of no user


@njit
def value_bit(value, number):
    """Random bit `number` of a hashing's value."""
    return (bits(value, U32(number >> 5)) >> U32(number & 31)) & U32(1)
