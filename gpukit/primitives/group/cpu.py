"""Host steps of grouping on the CPU; gpu.py has the same functions."""

import numpy as np

from gpukit.device.memory import empty
from gpukit.primitives.group import formulas, twins
from gpukit.runtime.thread_count import get_num_threads

NOTHING = np.empty(0, np.uint32)


def sort_by_bits(keys, begin, end, payload=None, spare=None):
    """Sort keys by their bits begin to end (exclusive), stably; return (keys, payload, spare).

    keys (n,) uint64; payload (n,) uint32 or None. spare: scratch (keys, payload) of the same sizes; None allocates it.
    The result is in one of the two pairs of arrays; the other pair is returned as spare.
    """
    payload = NOTHING if payload is None else payload
    other = tuple(empty(array.shape, array.dtype) for array in (keys, payload)) if spare is None else spare
    arrays = keys, payload
    tiles, blocks = formulas.tiles_a_block(len(keys), twins.TILE, get_num_threads())
    for shift, width in formulas.digits(begin, end) if len(keys) else ():
        counts, totals = np.empty((1 << width, blocks), np.int64), np.empty(1 << width, np.int64)
        twins.count_digits(arrays[0], shift, width, tiles, counts)
        twins.scan_digits(counts, totals)
        twins.scatter_digits(*arrays, shift, width, tiles, counts, totals, *other)
        arrays, other = other, arrays
    return *arrays, other


def scan_parts(counts):
    """Replace counts (parts, n) int64 by exclusive sums within each part; return those of the parts (parts,) int64."""
    totals = np.empty(len(counts), np.int64)
    twins.scan_digits(counts, totals)
    twins.scan_digits(totals.reshape(1, -1), np.empty(1, np.int64))
    return totals


def row_starts(keys, shift, width, n_rows):
    """Return the first position of each row (n_rows + 1,) int64 in keys (n,) uint64.

    Keys are sorted by the `width` bits from `shift` on, which contain the row.
    """
    starts = np.zeros(n_rows + 1, np.int64)
    if len(keys):
        twins.row_starts(keys, shift, width, starts)
    return starts
