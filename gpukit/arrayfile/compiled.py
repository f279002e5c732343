"""Compiled sums and maxima of a table of words, in one pass."""

import numpy as np

from gpukit._jit import njit

AT_ONCE = 4  # rows: fewer update the column sums more often, more exceed the registers
HALF = np.uint64(32)  # bits


def sums(words):
    """Return row sums, column sums and largest halves of words (r, c) uint64.

    The result is (rows (r,), columns (c,), (largest upper half, largest lower half)). Each half is in the upper 32 bits
    of a uint64; the bits below are to be ignored.
    """
    rows, columns = np.empty(len(words), np.uint64), np.zeros(words.shape[1], np.uint64)
    words = words[:]
    words.flags.writeable = False  # mapped files are read-only: one array type, compiled once
    return rows, columns, totals(words, rows, columns)


@njit(nogil=True)
def totals(words, rows, columns):
    """Fill rows and columns with the sums of words (r, c).

    rows (r,) and columns (c,), which holds 0 before. Returns the largest word, and the largest lower half of a word,
    shifted to the upper half. All uint64.
    """
    upper = lower = np.uint64(0)
    whole = len(words) // AT_ONCE * AT_ONCE
    for r in range(0, whole, AT_ONCE):
        first = second = third = fourth = np.uint64(0)
        for c in range(words.shape[1]):
            p, q, s, t = words[r, c], words[r + 1, c], words[r + 2, c], words[r + 3, c]
            first += p
            second += q
            third += s
            fourth += t
            columns[c] += p + q + s + t
            upper = max(upper, max(max(p, q), max(s, t)))
            lower = max(lower, max(max(p << HALF, q << HALF), max(s << HALF, t << HALF)))
        rows[r], rows[r + 1], rows[r + 2], rows[r + 3] = first, second, third, fourth
    for r in range(whole, len(words)):
        rows[r] = 0
        for c in range(words.shape[1]):
            word = words[r, c]
            rows[r] += word
            columns[c] += word
            upper, lower = max(upper, word), max(lower, word << HALF)
    return upper, lower
