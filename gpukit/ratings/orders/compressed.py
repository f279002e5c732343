"""Pairs of rows in order on the host: Ratings.csr and Ratings.csc, as scipy keeps them, and what finds repeats."""

import numpy as np

from gpukit.errors import DataError
from gpukit.io import trust
from gpukit.primitives.group.cpu import row_starts, sort_by_bits
from gpukit.ratings.orders import twins

MOST = 1 << 32  # pairs that a payload of 32 bits can number


def packed_pairs(rows, columns, shape):
    """(keys (n,) uint64, row << shift | column; shift) of rows and columns (n,) int32 within shape.

    DataError for more pairs than can be numbered, and for a row or column that is not within shape.
    """
    if len(rows) >= MOST:
        raise DataError(f"{len(rows):,} ratings are more than the {MOST - 1:,} that can be put in order.")
    keys, outside, shift = np.empty(len(rows), np.uint64), np.array([len(rows)]), bits_of(shape[1])
    twins.pack_keys(rows, columns, np.zeros(len(rows), np.uint8), *shape, 0, shift, keys, outside)
    if outside[0] < len(rows):
        raise DataError(
            f"Rating number {outside[0] + 1:,} is of row {rows[outside[0]]} and column {columns[outside[0]]}, which "
            f"are not within {shape[0]:,} x {shape[1]:,}."
        )
    return keys, shift


def sorted_pairs(keys, shape, payload):
    """(keys, payload (n,) uint32) of packed_pairs by row, then column; equal pairs in their order in the input."""
    return sort_by_bits(keys, 0, bits_of(shape[0]) + bits_of(shape[1]), payload)[:2]


def compressed_rows(rows, columns, values, shape):
    """(indptr (n_rows + 1,) int64, indices (n,) int32, values (n,) float32) with each row's columns ascending.

    Pairs that occur twice stay, in their order in the input. Raises as packed_pairs, and DataError for arrays that are
    not as long as values, or no whole numbers.
    """
    for what, numbers in (("row numbers", rows), ("column numbers", columns)):
        trust.check_array(what, numbers, (np.int32, np.int64), (len(values),))
    keys, shift = packed_pairs(rows, columns, shape)
    keys, bits = sorted_pairs(keys, shape, np.array(values, np.float32).view(np.uint32))
    indices = (keys & np.uint64((1 << shift) - 1)).astype(np.int32)
    return row_starts(keys, shift, bits_of(shape[0]), shape[0]), indices, bits.view(np.float32)


def bits_of(count):
    """How many bits tell `count` numbers apart."""
    return max(1, (count - 1).bit_length())
