"""Scalar functions of simLSH's codes for kernels and twins: bit-sliced counting and comparing.

Bit-sliced: 32 counters, one for each bit of a word, are words s[0], s[1], ... where bit g of s[k] is bit k of counter
g. Adding a word to all 32 counters is then a few logic operations (a carry-save adder: Harley and Seal; Mula, Kurz and
Lemire, "Faster population counts using AVX2 instructions", 2018).
"""

import numpy as np

from gpukit._jit import njit
from gpukit.neighbors.formulas import full_add
from gpukit.random import bits

U32 = np.uint32
ALL_BITS = U32(0xFFFFFFFF)
COUNT_SLICES = 12  # slices of a run's counters: up to 4,095
NO_HASH = U32(0xFFFFFFFF)  # the value without users
BYTE_PAIRS = U32(0x00FF00FF)
LOW_HALF = U32(0xFFFF)
SUM_MEAN = np.int32(510)  # of the sum of four bytes


@njit
def add_eight(low, x0, x1, x2, x3, x4, x5, x6, x7):
    """Add eight words to the slices low = (ones, twos, fours); return (ones, twos, fours, carry of weight eight)."""
    ones, a = full_add(low[0], x0, x1)
    ones, b = full_add(ones, x2, x3)
    twos, c = full_add(low[1], a, b)
    ones, a = full_add(ones, x4, x5)
    ones, b = full_add(ones, x6, x7)
    twos, d = full_add(twos, a, b)
    fours, eight = full_add(low[2], c, d)
    return ones, twos, fours, eight


@njit
def half_add(a, b):
    """Return (sum, carry) of a + b on 32 lanes."""
    return U32(a ^ b), U32(a & b)


@njit
def add_carry(high, c):
    """Add one word of weight eight to the slices high = s[3..11] (nine words); the counters stay below 4096."""
    s3, c = half_add(high[0], c)
    s4, c = half_add(high[1], c)
    s5, c = half_add(high[2], c)
    s6, c = half_add(high[3], c)
    s7, c = half_add(high[4], c)
    s8, c = half_add(high[5], c)
    s9, c = half_add(high[6], c)
    s10, c = half_add(high[7], c)
    return s3, s4, s5, s6, s7, s8, s9, s10, U32(high[8] ^ c)


@njit
def compare_slice(slice_, bit, so_far):
    """One step, from the lowest slice up, of counter >= threshold: bit is the threshold's."""
    return U32(slice_ & so_far) if bit else U32(slice_ | so_far)


@njit
def used_bits(word, n_bits):
    """Return the mask of the bits of word number `word` in a code of n_bits bits; other bits are zero."""
    left = n_bits - 32 * word
    return ALL_BITS if left >= 32 else U32((1 << left) - 1)


@njit
def value_bit(value, number):
    """Random bit `number` of a hashing's value."""
    return (bits(value, U32(number >> 5)) >> U32(number & 31)) & U32(1)


@njit
def coordinate(key, user):
    """Return a user's coordinate in the direction of a key: int32 of mean 0 in -510..510, near normal (Irwin-Hall)."""
    word = bits(key, user)
    pairs = U32((word & BYTE_PAIRS) + ((word >> U32(8)) & BYTE_PAIRS))
    return np.int32(np.int32(U32((pairs & LOW_HALF) + (pairs >> U32(16)))) - SUM_MEAN)
