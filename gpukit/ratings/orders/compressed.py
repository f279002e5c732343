"""Sorted pairs of rows on the host, for Ratings.csr, Ratings.csc and repeats."""

import numpy as np

from gpukit.errors import DataError
from gpukit.io import trust
from gpukit.primitives.group.cpu import row_starts, sort_by_bits
from gpukit.ratings.orders import twins

MOST_RATINGS = (1 << 32) - 1  # positions are 32-bit numbers


def pack_pairs(rows, columns, shape):
    """Return (keys (n,) uint64 = row << shift | column, shift).

    rows, columns: (n,) int32 within shape. Raises DataError for too many pairs and for indices outside shape.
    """
    if len(rows) > MOST_RATINGS:
        raise DataError(f"{len(rows):,} ratings are more than the {MOST_RATINGS:,} that can be put in order.")
    keys, outside, shift = np.empty(len(rows), np.uint64), np.array([len(rows)]), bits_of(shape[1])
    twins.pack_keys(rows, columns, np.zeros(len(rows), np.uint8), *shape, 0, shift, keys, outside)
    if outside[0] < len(rows):
        raise DataError(
            f"Rating number {outside[0] + 1:,} is of row {rows[outside[0]]} and column {columns[outside[0]]}, which "
            f"are not within {shape[0]:,} x {shape[1]:,}."
        )
    return keys, shift


def sort_pairs(keys, shape, payload):
    """Return pack_pairs' keys and payload (n,) uint32 sorted by row, then column.

    Equal pairs keep their input order.
    """
    return sort_by_bits(keys, 0, bits_of(shape[0]) + bits_of(shape[1]), payload)[:2]


def compress_rows(rows, columns, values, shape):
    """Return (indptr (n_rows + 1,) int64, indices (n,) int32, values (n,) float32).

    Columns ascend in each row. Repeated pairs stay, in input order. Raises as pack_pairs does, and DataError for
    arrays of another length than values or of other types than int32 and int64.
    """
    for what, numbers in (("row numbers", rows), ("column numbers", columns)):
        trust.check_array(what, numbers, (np.int32, np.int64), (len(values),))
    keys, shift = pack_pairs(rows, columns, shape)
    keys, bits = sort_pairs(keys, shape, np.array(values, np.float32).view(np.uint32))
    indices = (keys & np.uint64((1 << shift) - 1)).astype(np.int32)
    return row_starts(keys, shift, bits_of(shape[0]), shape[0]), indices, bits.view(np.float32)


def bits_of(count):
    """Return the number of bits that distinguish `count` numbers."""
    return max(1, (count - 1).bit_length())
