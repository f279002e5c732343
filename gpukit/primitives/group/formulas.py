"""Scalar maths of grouping, compiled for both devices."""

import numpy as np

from gpukit._jit import njit
from gpukit.primitives.search import make_partition_point

U32, U64, I64 = np.uint32, np.uint64, np.int64


@njit
def digit(key, shift, mask):
    """The bits of a 64-bit key from `shift` on that mask (a number of ones) leaves, as uint32."""
    return U32(U64(key >> U64(shift)) & U64(mask))


@njit
def is_before_row(keys, field, position):
    """Whether the key at a position is of a row before field's: (shift, mask, row), where a key's row lies in it and
    the row that is asked for."""
    shift, mask, row = field
    return I64(U64(keys[U64(position)] >> shift) & mask) < row


# (keys, field, low, high): the first of the keys, in order of rows, that is of field's row or a later one.
first_of_row = make_partition_point(is_before_row)
