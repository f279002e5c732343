"""Blocks of lines: cut at newlines into ranges, one a thread."""

import numpy as np

from gpukit._jit import njit, prange
from gpukit.io.fields import NEWLINE

ONE_THREAD = 8 << 20  # bytes of a file below which waiting for other threads may cost more than they save


@njit(parallel=True)
def cut(buffer, n_ranges):
    """(bounds (n_ranges+1,), lines (n_ranges,)) int64: ranges that start after a newline, and the newlines in each."""
    size = len(buffer)
    bounds, lines = np.zeros(n_ranges + 1, dtype=np.int64), np.zeros(n_ranges, dtype=np.int64)
    bounds[n_ranges] = size
    for part in range(1, n_ranges):
        at = max(bounds[part - 1], part * size // n_ranges)
        while at > 0 and at < size and buffer[at - 1] != NEWLINE:
            at += 1
        bounds[part] = at
    for part in prange(n_ranges):
        count = 0
        for letter in buffer[bounds[part] : bounds[part + 1]]:
            count += letter == NEWLINE
        lines[part] = count
    return bounds, lines


@njit
def last_newline(buffer, size):
    """The position after the last newline in buffer[:size], 0 without one."""
    while size > 0 and buffer[size - 1] != NEWLINE:
        size -= 1
    return size


@njit
def count_lines(buffer, size):
    """Newlines in buffer[:size]."""
    count = 0
    for letter in buffer[:size]:
        count += letter == NEWLINE
    return count
