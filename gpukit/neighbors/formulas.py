"""Scalar formulas of hashes and searches, compiled for both devices.

Bit-sliced: 32 counters, one for each bit of a word, are words s[0], s[1], ... where bit g of s[k] is bit k of counter
g. Adding a word to all 32 counters is then a few logic operations (a carry-save adder: Harley and Seal; Mula, Kurz and
Lemire, "Faster population counts using AVX2 instructions", 2018).

A pair of click columns has one sum, the number of common users. Ratings are whole numbers x of one item, y of the
other. Three words contain all six sums over their common raters: a sum of squares or products in the lower bits, a
plain sum or the count in the upper ones.

    own: (sum x^2, sum x)     other: (sum y^2, sum y)     both: (sum x y, n)

A long column is divided into parts short enough for words of 32 bits (`packing`), which are added to words of 64.
"""

import math

import numpy as np

from gpukit._jit import njit
from gpukit.primitives.keys import descending_key
from gpukit.primitives.search import make_partition_point
from gpukit.random import bits, key, mix
from gpukit.streams import Keyed

U32, U64, I64 = np.uint32, np.uint64, np.int64
NOBODY = U32(0xFFFFFFFF)  # the key of a pair that cannot be neighbours; as a mask, all bits
ALL_BITS = U32(0xFFFFFFFF)
COUNT_SLICES = 12  # slices of a run's counters: up to 4,095
NO_HASH = U32(0xFFFFFFFF)  # the value without users
BYTE_PAIRS = U32(0x00FF00FF)
LOW_HALF = U32(0xFFFF)
SUM_MEAN = np.int32(510)  # of the sum of four bytes
FOLD = U64(0x9E3779B97F4A7C15)  # odd multiplier for codes of more than 64 bits
SHIFT_32 = U64(1 << 32)
SQUARE_BITS = 35  # bits of a 64-bit word for the sum of squares or products
SQUARES = I64((1 << SQUARE_BITS) - 1)
SCALE = np.float64(1 << 31)
ONE = np.float64(1.0)


@njit
def full_add(a, b, c):
    """One-bit adders on 32 lanes: (sum, carry) of a + b + c."""
    half = a ^ b
    return U32(half ^ c), U32((a & b) | (half & c))


@njit
def bit_length(x):
    """Number of bits of a nonnegative integer."""
    n = 0
    while x >> n:
        n += 1
    return n


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


@njit
def piece_of(low, high, shift, width):
    """Return the `width` (1..32) bits that start at bit `shift` (0..31) of the word pair (low, high)."""
    pair = U64((U64(high) << U64(32)) | U64(low))
    return U64(U64(pair >> U64(shift)) & U64((1 << width) - 1))


@njit
def fold(code, piece, wide):
    """Return the code with up to 32 more bits.

    Exact for codes of up to 64 bits, otherwise (wide) a polynomial hash modulo 2**64. Different codes of more than 64
    bits are then equal with a probability of about 2**-64.
    """
    return U64(U64(U64(code) * (FOLD if wide else SHIFT_32)) + U64(piece))


@njit
def table_code(codes, item, table, width):
    """Return the bits of item's code in one fine hashing (width = p * G of them) as 64 bits; see formulas.fold."""
    code = np.uint64(0)
    for done in range(0, width, 32):
        start = table * width + done
        here = min(32, width - done)
        word, shift = start >> 5, start & 31
        after = codes[item, word + 1] if shift + here > 32 else U32(0)
        code = fold(code, piece_of(codes[item, word], after, shift, here), width > 64)
    return code


@njit
def table_hash(code):
    """Return 24 bits of a hash of a 64-bit code, as an exact float32, which sorts the tables."""
    low = U32(U64(code) & U64(0xFFFFFFFF))
    high = U32(U64(code) >> U64(32))
    return np.float32(mix(U32(low ^ mix(high))) >> U32(8))


@njit
def _is_hashed_below(table, key, slot):
    """Return True if the item in a slot of a table has a hash below `key`; table: (hashes, mates, number)."""
    hashes, mates, number = table
    return hashes[number, mates[number, slot]] < key


_first_slot = make_partition_point(_is_hashed_below)


@njit
def first_mate(hashes, mates, table, key):
    """Return the first slot of a table whose item's hash is at least `key`.

    hashes (q, N) float32, of the items in each table; mates (q, N) int32: the items of each table by ascending hash.
    """
    return _first_slot((hashes, mates, table), key, 0, mates.shape[1])


@njit
def in_list(item, ids, row, size):
    """Return True if item is among the first `size` of ids[row]."""
    for slot in range(size):
        if ids[row, slot] == item:
            return True
    return False


@njit(fastmath=False)  # an exact division: with fastmath the GPU would use the approximate one
def agreement(key, worst):
    """Return the score of a neighbour: the fraction of equal bits (or fine hashings), float32 in (0, 1]."""
    return np.float32(np.float32(U32(worst - key)) / np.float32(worst))


def supplement_key(seed):
    """Return the uint32 key of the random supplement."""
    return np.uint32(key(seed, Keyed.SUPPLEMENT[0]))


def permutation_half(n_items):
    """Return half the number of bits of the permutation of `random.shuffle_index`."""
    return max(1, -(-(n_items - 1).bit_length() // 2))


def table_offsets(q, n_items):
    """Return offsets (q + 1,) int64 of q tables of all items, one after the other."""
    return np.arange(q + 1, dtype=np.int64) * n_items


@njit
def packing(most):
    """Return (users of a part, shift of the upper half of its 32-bit words) for ratings of at most `most`."""
    part = 12  # bits of the number of users of a part
    while True:
        users = (1 << part) - 1
        shift = bit_length(users * most * most)
        if part == 1 or shift + bit_length(users * max(most, 1)) <= 32:
            return users, shift
        part -= 1


@njit
def widen(word, shift):
    """Return a 32-bit word of a part as one of 64 bits."""
    square = I64(word & U32((1 << shift) - 1))
    return I64(square + (I64(word >> U32(shift)) << I64(SQUARE_BITS)))


@njit(fastmath=False)  # without fastmath, because devices would round differently
def pair_key(own, other, both):
    """Return the key of a pair: 2**31 (1 - n / (n + lambda) rho), rounded down; NOBODY unless that is below 2**31.

    rho = (n sum xy - sum x sum y) / sqrt((n sum x^2 - (sum x)^2) (n sum y^2 - (sum y)^2)). The paper's S_jk.
    """
    shrinkage = 100  # lambda_rho of the paper's section 5.3
    n, xy = both >> I64(SQUARE_BITS), both & SQUARES
    x, xx = own >> I64(SQUARE_BITS), own & SQUARES
    y, yy = other >> I64(SQUARE_BITS), other & SQUARES
    shared = I64(n * xy - x * y)
    if shared <= 0:  # also if one of them is constant
        return NOBODY
    spread = math.sqrt(np.float64(n * xx - x * x) * np.float64(n * yy - y * y))
    similarity = (np.float64(n) * np.float64(shared)) / (np.float64(n + shrinkage) * spread)
    return U32((ONE - similarity) * SCALE)


@njit(fastmath=False)
def cosine_key(own, other, both):
    """Return the key of a damped cosine of clicks, the largest first: both / (sqrt(own other) + 10), float32.

    own, other: users of each item; both: common users, above 0.
    """
    damping = np.float64(10)  # common users at which a pair of rare items counts half, about
    length = math.sqrt(np.float64(own) * np.float64(other))
    return descending_key(np.float32(np.float64(both) / (length + damping)))
