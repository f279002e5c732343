"""Scalar functions of the search by buckets and of the supplement, and the parameters of their launches."""

import numpy as np

from gpukit._jit import njit
from gpukit.primitives.search import make_partition_point
from gpukit.random import key, mix
from gpukit.streams import Keyed

U32 = np.uint32
U64 = np.uint64
FOLD = U64(0x9E3779B97F4A7C15)  # odd multiplier for codes of more than 64 bits
SHIFT_32 = U64(1 << 32)


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
    """Return half the number of bits of the permutation of `random.shuffled`."""
    return max(1, -(-(n_items - 1).bit_length() // 2))


def table_offsets(q, n_items):
    """Return offsets (q + 1,) int64 of q tables of all items, one after the other."""
    return np.arange(q + 1, dtype=np.int64) * n_items
