"""Scalar maths of the sorting: floating-point keys as integers in the same order."""

import numpy as np

from gpukit._jit import njit

U32, U64 = np.uint32, np.uint64
SIGN = U64(1 << 63)
LAST = U64((1 << 64) - 1)


@njit
def ascending_key(pattern):
    """The bits of a float64 as uint64 -> uint64 in the order of the numbers: -inf < -1 < -0 = 0 < 1 < inf.

    A float32's bits belong in the upper half; the lower half of its key is then without meaning.
    """
    key = U64(~pattern) if pattern & SIGN else U64(pattern | SIGN)
    return SIGN if key == U64(SIGN - U64(1)) else key
