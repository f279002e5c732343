"""What is asked of a piece of an array, while it is in the cache: its checksum, and the range of its numbers.

A checksum needs the sums of the rows and of the columns of a table of words, by numpy in two passes, and the range
takes a third. Compiled code has all three in one, in a quarter of the time, but takes time to be loaded (and the first
of a process numba's own start, which what follows a large table needs anyway).
"""

import sys
import zlib

import numpy as np

PIECE = 1 << 20  # bytes
ROW, WORD = 4096, 8  # bytes
COMPILED_FROM = 256 << 20  # bytes: compiled code saves 10 ms of them, twice what its own loading takes


def way(nbytes):
    """The function that gives the sums of a table of words, for arrays of so many bytes: `sums`, or a compiled one,
    unless numba would have to be imported first."""
    if nbytes < COMPILED_FROM or "numba" not in sys.modules:
        return sums
    from gpukit.arrayfile import compiled

    compiled.sums(np.empty((0, ROW // WORD), "<u8"))  # loaded now: the threads that share the work would wait for it
    return compiled.sums


def sums(words):
    """(sums of rows (r,), of columns (c,), None) of words (r, c) uint64; a compiled way has the largest upper half and
    the largest lower half of a word for the None."""
    return words.sum(axis=1), words.sum(axis=0), None


def checksum(piece):
    """The checksum of a piece, bytes (b,), as the package says."""
    return look(piece, None, sums)[0]


def look(piece, dtype, sums):
    """(checksum, (low, high) that the numbers lie within) of a piece, bytes (b,) of numbers of a dtype, by a way to
    have sums; dtype None: (checksum, None)."""
    end = len(piece) // ROW * ROW
    rows, columns, tops = sums(piece[:end].view("<u8").reshape(-1, ROW // WORD))
    crc = zlib.crc32(columns, zlib.crc32(rows, zlib.crc32(piece[end:])))
    return crc, None if dtype is None else _range(piece.view(dtype), end, tops)


def _range(numbers, end, tops):
    """(low, high) that numbers (n,) lie within, NaN where one is none; tops: of those in the first `end` bytes, as
    `sums` says.

    As unsigned numbers what is negative, infinite or none is larger than all that is not: where there is nothing of
    it, as usual, the largest is enough.
    """
    kind, size = numbers.dtype.kind, numbers.itemsize
    if size > WORD:
        return numbers.min(), numbers.max()
    bits = numbers.view(f"u{size}")
    top = _top(bits, end // size, tops)
    largest = np.inf if kind == "f" else np.iinfo(numbers.dtype).max
    if kind == "u" or top < np.array([largest], numbers.dtype).view(bits.dtype)[0]:
        return 0, np.array([top], bits.dtype).view(numbers.dtype)[0]
    return numbers.min(), numbers.max()


def _top(bits, end, tops):
    """The largest of unsigned numbers (n,), of the first `end` of which tops tells."""
    if tops is None or bits.itemsize < WORD // 2:
        return bits.max()
    upper, lower = tops
    top = (upper, lower)[0] if bits.itemsize == WORD else max(upper >> np.uint64(32), lower >> np.uint64(32))
    return max([int(top), *bits[end:].tolist()])
