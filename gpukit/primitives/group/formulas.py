"""Scalar maths of grouping, compiled for both devices."""

import numpy as np

from gpukit._jit import njit

U32, U64 = np.uint32, np.uint64


@njit
def digit(key, shift, mask):
    """The bits of a 64-bit key from `shift` on that mask (a number of ones) leaves, as uint32."""
    return U32(U64(key >> U64(shift)) & U64(mask))
