"""Scalar functions of minHash: the bits of a hashing's value."""

import numpy as np

from gpukit._jit import njit
from gpukit.random import bits

U32 = np.uint32
NONE = U32(0xFFFFFFFF)  # the value without users


@njit
def value_bit(value, number):
    """Random bit `number` of a hashing's value."""
    return (bits(value, U32(number >> 5)) >> U32(number & 31)) & U32(1)
