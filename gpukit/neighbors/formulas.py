"""Scalar maths of simLSH, used by kernels and twins alike: bit-sliced counting, table codes, random supplement, scores.

Bit-sliced: 32 counters, one for each bit of a word, held as words s[0], s[1], ... where bit g of s[k] is bit k of
counter g. Adding a word to all 32 counters is then a handful of logic operations (a carry-save adder: Harley and Seal;
Mula, Kurz and Lemire, "Faster population counts using AVX2 instructions", 2018).
"""

import numpy as np

from gpukit._jit import njit
from gpukit.random import bits, mix

U32 = np.uint32
U64 = np.uint64
NOBODY = U32(0xFFFFFFFF)  # the key of a pair that cannot be neighbours
FOLD = U64(0x9E3779B97F4A7C15)  # odd multiplier for codes of more than 64 bits
SHIFT_32 = U64(1 << 32)


@njit
def full_add(a, b, c):
    """One-bit adders on 32 lanes at once: (sum, carry) of a + b + c."""
    half = a ^ b
    return U32(half ^ c), U32((a & b) | (half & c))


@njit
def add_eight(low, x0, x1, x2, x3, x4, x5, x6, x7):
    """Add eight words to the slices low = (ones, twos, fours); returns (ones, twos, fours, carry of weight eight)."""
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
    """(sum, carry) of a + b on 32 lanes."""
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
def bit_length(x):
    """Bits of a nonnegative integer."""
    n = 0
    while x >> n:
        n += 1
    return n


@njit
def compare_slice(slice_, bit, so_far):
    """One step, from the lowest slice up, of counter >= threshold: bit is the threshold's."""
    return U32(slice_ & so_far) if bit else U32(slice_ | so_far)


@njit
def used_bits(word, n_bits):
    """Mask of the bits of word number `word` that belong to a code of n_bits bits; the rest stay zero."""
    left = n_bits - 32 * word
    return NOBODY if left >= 32 else U32((1 << left) - 1)


@njit
def piece_of(low, high, shift, width):
    """The `width` (1..32) bits that start at bit `shift` (0..31) of the word pair (low, high)."""
    pair = U64((U64(high) << U64(32)) | U64(low))
    return U64(U64(pair >> U64(shift)) & U64((1 << width) - 1))


@njit
def fold(code, piece, wide):
    """The code with up to 32 more bits: exact while codes fit 64 bits, else (wide) a polynomial hash modulo 2**64.

    Different codes of more than 64 bits then meet with a probability of about 2**-64.
    """
    return U64(U64(U64(code) * (FOLD if wide else SHIFT_32)) + U64(piece))


@njit
def table_hash(code):
    """24 bits of a hash of a 64-bit code, as a float32 that holds them exactly: what the tables are sorted by."""
    low = U32(U64(code) & U64(0xFFFFFFFF))
    high = U32(U64(code) >> U64(32))
    return np.float32(mix(U32(low ^ mix(high))) >> U32(8))


@njit
def first_mate(hashes, mates, table, key):
    """The first slot of a table whose item's hash is not below `key`, by bisection.

    hashes (q, N) float32, of the items in each table; mates (q, N) int32: the items of each table by rising hash.
    """
    low, high = 0, mates.shape[1]
    while low < high:
        middle = (low + high) >> 1
        if hashes[table, mates[table, middle]] < key:
            low = middle + 1
        else:
            high = middle
    return low


@njit
def shuffled(key, index, half, n):
    """Entry `index` of a random order of 0..n-1 that is a function of key (n <= 4**half).

    A four-round Feistel permutation of 2 * half bits, walked until it falls below n (Black and Rogaway, 2002).
    """
    mask = U32((1 << half) - 1)
    x = U32(index)
    while True:
        left = U32(x >> U32(half))
        right = U32(x & mask)
        for turn in range(4):
            left, right = right, U32(left ^ (bits(U32(key + U32(turn)), right) & mask))
        x = U32(U32(left << U32(half)) | right)
        if x < n:
            return x


@njit(fastmath=False)  # an exact division: with any liberty the GPU would take the approximate one
def agreement(key, worst):
    """The score of a neighbour: the share of bits (or of fine hashings) that agree, float32 in (0, 1]."""
    return np.float32(np.float32(U32(worst - key)) / np.float32(worst))
