"""Scalar maths of ordering, compiled for both devices."""

import numpy as np

from gpukit._jit import njit

U32, U64 = np.uint32, np.uint64
TABLE = 2048  # slots of the table of values, a power of two, several times levels.MOST
FREE = U32(0xFFFFFFFF)  # a slot that holds no value: the bits of a NaN
SPREAD = U32(0x9E3779B9)
EXPONENT = U32(0x7F800000)
MINUS_ZERO = U32(0x80000000)


@njit
def first_slot(bits):
    """Where the search for a value begins in the table: the top 11 bits of a multiplicative hash."""
    return U32(U64(U64(bits) * U64(SPREAD)) & U64(0xFFFFFFFF)) >> U32(21)


@njit
def plain_bits(bits):
    """The bits of a float32 with one zero."""
    return U32(0) if bits == MINUS_ZERO else U32(bits)


@njit
def is_finite(bits):
    """Whether a float32 with these bits is a finite number."""
    return U32(bits & EXPONENT) != EXPONENT


@njit
def packed(user, item, code, item_shift, user_shift):
    """user | item | code, from the highest bits to the lowest, as uint64."""
    return U64(U64(U64(user) << U64(user_shift)) | U64(U64(item) << U64(item_shift)) | U64(code))
