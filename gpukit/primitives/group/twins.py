"""CPU twins of kernels.py: the same names and arguments; a thread processes the tiles of a block."""

import numpy as np

from gpukit._jit import copy_row, njit
from gpukit.primitives.group.formulas import digit
from gpukit.scheduler import by_block

U64, I64 = np.uint64, np.int64
TILE = 2048


@njit
def _range(block, tiles, size):
    """Return the records of a block, (first, end)."""
    return min(block * tiles * TILE, size), min((block + 1) * tiles * TILE, size)


@by_block(lambda counts: counts.shape[1])
def count_digits(start, stop, keys, shift, width, tiles, counts):
    """Twin of kernels.count_digits."""
    mask = U64((U64(1) << U64(width)) - U64(1))
    for block in range(start, stop):
        block_counts = np.zeros(counts.shape[0], np.int64)
        first, last = _range(block, tiles, keys.size)
        for t in range(first, last):
            block_counts[digit(keys[t], shift, mask)] += 1
        copy_row(block_counts, counts[:, block])


def scan_digits(counts, totals):
    """Twin of kernels.scan_digits."""
    totals[: len(counts)] = counts.sum(axis=1)
    counts[:] = np.cumsum(counts, axis=1) - counts


@by_block(lambda counts: counts.shape[1])
def scatter_digits(start, stop, keys, payload, shift, width, tiles, counts, totals, out_keys, out_payload):
    """Twin of kernels.scatter_digits; without payload if it is empty."""
    mask = U64((U64(1) << U64(width)) - U64(1))
    paired = payload.size > 0
    for block in range(start, stop):
        place = np.empty(counts.shape[0], np.int64)
        before = I64(0)
        for row in range(counts.shape[0]):
            place[row] = before + counts[row, block]
            before += totals[row]
        first, last = _range(block, tiles, keys.size)
        for t in range(first, last):
            number = digit(keys[t], shift, mask)
            out_keys[place[number]] = keys[t]
            if paired:
                out_payload[place[number]] = payload[t]
            place[number] += 1


@by_block(lambda keys: keys.size)
def row_starts(start, stop, keys, shift, width, starts):
    """Twin of kernels.row_starts."""
    mask = U64((U64(1) << U64(width)) - U64(1))
    size, rows = keys.size, starts.size - 1
    for k in range(stop - start):
        t = start + k
        row = I64((keys[t] >> U64(shift)) & mask)
        before = I64((keys[t - 1] >> U64(shift)) & mask) if t > 0 else I64(-1)
        for empty in range(before + 1, row + 1):
            starts[empty] = t
        if t == size - 1:
            for empty in range(row + 1, rows + 1):
                starts[empty] = size
