"""Blocks of lines: cut at newlines into ranges, one a thread."""

import numpy as np

from gpukit._jit import njit
from gpukit.io.fields import NEWLINE, QUOTE, hide_line_ends
from gpukit.scheduler import by_block

LONGEST_FIELD = 1 << 24  # bytes of a quoted field with line ends
ONE_THREAD = 8 << 20  # bytes of a file below which waiting for other threads may cost more than they save


def cut(buffer, n_ranges):
    """(bounds (n_ranges+1,), lines (n_ranges,)) int64: ranges that start after a newline, and the newlines in each."""
    bounds = _bounds(buffer, n_ranges)
    return bounds, counted(buffer, bounds, NEWLINE)


def counted(buffer, bounds, letter):
    """(parts,) int64: how often a letter is in each range from bounds[k] to bounds[k + 1]."""
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
def last_newline(buffer, size):
    """The position after the last newline in buffer[:size], 0 without one."""
    while size > 0 and buffer[size - 1] != NEWLINE:
        size -= 1
    return size


@njit
def count_lines(buffer, size):
    """Newlines in buffer[:size], hidden ones (bytes of 0) too."""
    count = 0
    for letter in buffer[:size]:
        count += letter == NEWLINE or letter == 0
    return count


def whole_lines(blocks, sep, width):
    """Yield blocks of lines in which the line ends within quoted fields are bytes of 0.

    blocks: uint8 arrays of whole lines, changed in place; sep, width: see `fields.split_line`. A quote that is still
    open after LONGEST_FIELD bytes stays as it is.
    """
    kept = np.empty(0, np.uint8)
    for block in blocks:
        block = np.concatenate((kept, block)) if len(kept) else block
        end = hide_line_ends(block, np.uint8(sep), width) if len(kept) or (block == QUOTE).any() else len(block)
        end = len(block) if len(block) - end > LONGEST_FIELD else end
        kept = block[end:].copy()
        if end:
            yield block[:end]
    if len(kept):
        yield kept
