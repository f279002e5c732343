"""Scalar functions of grouping, compiled for both devices, and the digits of a sort."""

import numpy as np

from gpukit._jit import njit
from gpukit.primitives.search import make_partition_point

U32, U64, I64 = np.uint32, np.uint64, np.int64
MOST_BITS = 8  # of a digit


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


def digits(begin, end, most=MOST_BITS):
    """[(shift, width)] that cover the bits begin to end (not included), from the lowest, as equal as can be."""
    passes = -(-(end - begin) // most)
    cuts = [begin + (end - begin) * number // passes for number in range(passes + 1)] if passes else []
    return [(first, last - first) for first, last in zip(cuts, cuts[1:])]


def tiles_a_block(n, tile, most_blocks):
    """(tiles that a block walks, blocks) for n records."""
    tiles = max(1, -(-n // tile))
    share = -(-tiles // most_blocks)
    return share, -(-tiles // share)
