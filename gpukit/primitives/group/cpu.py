"""Host steps of grouping on the CPU; gpu.py has the same functions."""

import numpy as np

from gpukit.device.memory import empty
from gpukit.primitives.group import formulas, twins
from gpukit.runtime.thread_count import get_num_threads

NOTHING = np.empty(0, np.uint32)


def sort_by_bits(keys, begin, end, payload=None, spare=None):
    """(keys, payload) in order of the keys' bits begin to end (not included), stably.

    keys (n,) uint64; payload (n,) uint32 or None. spare: (keys, payload) of the same sizes to work in, or None to make
    them; the answer lies in spare or in what was given, the other pair is free again: (keys, payload, spare).
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
    """counts (parts, share) int64, in place: of each the sum of those before it in its part; (parts,) int64: of each
    part the sum of all parts before it."""
    totals = np.empty(len(counts), np.int64)
    twins.scan_digits(counts, totals)
    twins.scan_digits(totals.reshape(1, -1), np.empty(1, np.int64))
    return totals


def row_starts(keys, shift, width, n_rows):
    """(n_rows + 1,) int64: where each row begins in keys (n,) uint64, in order of the `width` bits from `shift` on."""
    starts = np.zeros(n_rows + 1, np.int64)
    if len(keys):
        twins.row_starts(keys, shift, width, starts)
    return starts
