"""Sorted pairs of rows and compressed rows on the host; counts of rows."""

import numpy as np

from gpukit.device.memory import empty
from gpukit.errors import DataError
from gpukit.io import trust
from gpukit.primitives.group.cpu import row_starts, sort_by_bits
from gpukit.ratings.orders import twins
from gpukit.runtime.thread_count import get_num_threads
from gpukit.scheduler import by_block

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


def count_each(rows, size):
    """Return the number of each of the numbers 0 to size - 1 in rows (n,), n < 2^32, as (size,) int64."""
    tables = np.zeros((max(1, min(get_num_threads(), len(rows) // max(1, size))), size), np.uint32)
    _count_parts(rows, tables)
    return tables.sum(axis=0, dtype=np.int64)


@by_block(lambda tables: len(tables), heavy=True)
def _count_parts(start, stop, rows, tables):
    """Count consecutive parts of rows (n,), each in a table of its own."""
    for part in range(start, stop):
        for row in rows[rows.size * part // len(tables) : rows.size * (part + 1) // len(tables)]:
            tables[part, row] += np.uint32(1)


def join_rows(parts, rows, indptr):
    """Return a column (n,) of ratings from those of parts, which have rows[i] one after the other in parts[i].

    indptr (M + 1,) or longer: where each row begins in the result.
    """
    out = empty(int(indptr[-1]), parts[0].dtype)
    for part, own in zip(parts, rows):
        copy_rows(own, indptr, np.cumsum(np.diff(indptr)[own]), part, out)
    return out


@by_block(lambda rows: len(rows))
def copy_rows(start, stop, rows, indptr, stops, part, out):
    """Copy the rows of a part, which end at stops (rows,), to out, where row r begins at indptr[r]."""
    for k in range(start, stop):
        first = stops[k - 1] if k else 0
        for place in range(stops[k] - first):
            out[indptr[rows[k]] + place] = part[first + place]
