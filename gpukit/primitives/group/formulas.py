"""Scalar functions of grouping, compiled for both devices, and the digits of a sort."""

import numpy as np

from gpukit._jit import njit
from gpukit.primitives.search import make_partition_point

U32, U64, I64 = np.uint32, np.uint64, np.int64
MOST_BITS = 8  # of a digit


@njit
def digit(key, shift, mask):
    """Return (key >> shift) & mask as uint32."""
    return U32(U64(key >> U64(shift)) & U64(mask))


@njit
def is_before_row(keys, field, position):
    """Return True if the key at a position belongs to an earlier row than `row`; field: (shift, mask, row)."""
    shift, mask, row = field
    return I64(U64(keys[U64(position)] >> shift) & mask) < row


# (keys, field, low, high): first position in sorted keys[low:high] with field's row or a later one.
first_of_row = make_partition_point(is_before_row)


def digits(begin, end, most=MOST_BITS):
    """Return digits [(shift, width)] of similar width for the bits begin to end (exclusive), lowest first."""
    passes = -(-(end - begin) // most)
    cuts = [begin + (end - begin) * number // passes for number in range(passes + 1)] if passes else []
    return [(first, last - first) for first, last in zip(cuts, cuts[1:])]


def tiles_a_block(n, tile, most_blocks):
    """Return (tiles per block, blocks) for n records."""
    tiles = max(1, -(-n // tile))
    share = -(-tiles // most_blocks)
    return share, -(-tiles // share)
