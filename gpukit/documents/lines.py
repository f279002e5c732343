"""Split blocks at newlines into ranges, one per thread."""

import numpy as np

from gpukit._jit import njit
from gpukit.documents.decimals import NEWLINE
from gpukit.scheduler import by_block


def cut(buffer, n_ranges):
    """Return (bounds (n_ranges+1,), lines (n_ranges,)) int64 of a buffer.

    Ranges start after a newline; lines: newlines in each.
    """
    bounds = _bounds(buffer, n_ranges)
    return bounds, counted(buffer, bounds, NEWLINE)


def counted(buffer, bounds, letter):
    """Return the count (parts,) int64 of a letter in each range.

    Range k is bounds[k] to bounds[k + 1].
    """
    counts = np.empty(len(bounds) - 1, dtype=np.int64)
    _count(buffer, bounds, letter, counts)
    return counts


@njit
def _bounds(buffer, n_ranges):
    size, bounds = len(buffer), np.zeros(n_ranges + 1, dtype=np.int64)
    bounds[n_ranges] = size
    for part in range(1, n_ranges):
        at = max(bounds[part - 1], part * size // n_ranges)
        while at > 0 and at < size and buffer[at - 1] != NEWLINE:
            at += 1
        bounds[part] = at
    return bounds


@by_block(lambda counts: len(counts), heavy=True)
def _count(start, stop, buffer, bounds, letter, counts):
    for part in range(start, stop):
        count = 0
        for other in buffer[bounds[part] : bounds[part + 1]]:
            count += other == letter
        counts[part] = count


@njit
def count_lines(buffer, size):
    """Return the number of newlines in buffer[:size]."""
    count = 0
    for letter in buffer[:size]:
        count += letter == NEWLINE
    return count
