"""Counter-based random bits: a pure function of (seed, stream, index), the same in kernel and twin.

`bits` is a multiplicative counter followed by the 32-bit finalizer "lowbias32" (C. Wellons, "Prospecting for hash
functions", 2018): two multiplications, three xor-shifts, avalanche bias 0.17 %. Not for cryptography.
"""

import numpy as np

from gpukit._jit import njit

U32 = np.uint32
GOLDEN = U32(0x9E3779B9)
FIRST = U32(0x7FEB352D)
SECOND = U32(0x846CA68B)
UNIT = np.float32(2.0**-24)


@njit
def mix(x):
    """Apply lowbias32, a bijection of uint32 in which every input bit changes every output bit."""
    x = U32(x)
    x = U32(x ^ (x >> U32(16)))
    x = U32(x * FIRST)
    x = U32(x ^ (x >> U32(15)))
    x = U32(x * SECOND)
    return U32(x ^ (x >> U32(16)))


@njit
def key(seed, stream):
    """Return the 32-bit key of a stream of a seed; both are integers of at most 64 bits."""
    low = U32(seed & 0xFFFFFFFF)
    high = U32((seed >> 32) & 0xFFFFFFFF)
    return mix(U32(mix(U32(mix(U32(low + GOLDEN)) ^ high)) + U32(U32(stream) * GOLDEN)))


@njit
def bits(key, index):
    """Return 32 random bits for (key, index)."""
    return mix(U32(U32(U32(index) * GOLDEN) + U32(key)))


@njit
def long_bits(key, index):
    """Return `bits` for an index of at most 63 bits: equal below 2**32, with another stride of the counter above."""
    stride = U32(mix(index >> 32) | U32(1))  # mix(0) is 0
    return mix(U32(U32(U32(U32(index & 0xFFFFFFFF) * GOLDEN) + U32(key)) * stride))


@njit
def uniform(key, index):
    """Return a float32 in [0, 1) from the top 24 bits of `bits`."""
    return np.float32(np.float32(bits(key, index) >> U32(8)) * UNIT)


@njit
def integer_below(key, index, n):
    """Return an integer in [0, n), n < 2**31: the high half of a 32 x 32 bit product."""
    return np.int64((np.uint64(bits(key, index)) * np.uint64(n)) >> np.uint64(32))


@njit
def permute(key, x, half):
    """Return the image of x under a four-round Feistel permutation of the numbers of 2 * half bits."""
    mask = U32((1 << half) - 1)
    left = U32(x >> U32(half))
    right = U32(x & mask)
    for turn in range(4):
        left, right = right, U32(left ^ (bits(U32(key + U32(turn)), right) & mask))
    return U32(U32(left << U32(half)) | right)


@njit
def shuffle_index(key, index, half, n):
    """Return entry `index` of a random order of 0..n-1 that is a function of key; n <= 4**half.

    Applies `permute` until the result is below n (Black and Rogaway, 2002).
    """
    x = permute(key, U32(index), half)
    while x >= n:
        x = permute(key, x, half)
    return x
