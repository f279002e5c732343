"""Checksum and value range of a piece of an array.

Both are computed while the piece is in the cache. A checksum needs the row and column sums of a table of words, which
takes numpy two passes; the range takes a third. Compiled code does all in one pass, in a quarter of the time, but takes
time to load (and the first load in a process starts numba, which code after a large table needs anyway).
"""

import sys
import zlib

import numpy as np

PIECE = 1 << 20  # bytes
ROW, WORD = 4096, 8  # bytes
COMPILED_FROM = 256 << 20  # bytes: compiled code saves 10 ms, twice its loading time


def way(nbytes):
    """Return the function for sums of words, by total size.

    nbytes: of all arrays. It is `sums`, or the compiled one if numba is imported already.
    """
    if nbytes < COMPILED_FROM or "numba" not in sys.modules:
        return sums
    from gpukit.arrayfile import compiled

    compiled.sums(np.empty((0, ROW // WORD), "<u8"))  # load it before the threads need it
    return compiled.sums


def sums(words):
    """Return (row sums (r,), column sums (c,), None) of words (r, c) uint64.

    The compiled version returns the largest upper and lower halves instead of None.
    """
    return words.sum(axis=1), words.sum(axis=0), None


def checksum(piece):
    """Return the checksum of a piece, bytes (b,)."""
    return look(piece, None, sums)[0]


def look(piece, dtype, sums):
    """Return (checksum, (low, high) that contains the numbers) of a piece.

    piece: bytes (b,) of numbers of a dtype; sums: function of `way`; dtype None: return (checksum, None).
    """
    end = len(piece) // ROW * ROW
    rows, columns, tops = sums(piece[:end].view("<u8").reshape(-1, ROW // WORD))
    crc = zlib.crc32(columns, zlib.crc32(rows, zlib.crc32(piece[end:])))
    return crc, None if dtype is None else _range(piece.view(dtype), end, tops)


def _range(numbers, end, tops):
    """Return (low, high) that contains numbers (n,), NaN if one is NaN.

    tops: for the first `end` bytes, as from `sums`. As unsigned numbers, negative, infinite and NaN values are larger
    than all others. If there are none, as usual, the largest is sufficient.
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
    """Return the largest unsigned number; tops: of the first `end`."""
    if tops is None or bits.itemsize < WORD // 2:
        return bits.max()
    upper, lower = tops
    top = (upper, lower)[0] if bits.itemsize == WORD else max(upper >> np.uint64(32), lower >> np.uint64(32))
    return max([int(top), *bits[end:].tolist()])
