"""Scalar functions of ordering, compiled for both devices."""

import numpy as np

from gpukit._jit import njit

U32, U64 = np.uint32, np.uint64
TABLE = 2048  # slots of the table of values, a power of two, several times levels.MOST
FREE = U32(0xFFFFFFFF)  # marks an empty slot: the bits of a NaN
SPREAD = U32(0x9E3779B9)
EXPONENT = U32(0x7F800000)
MINUS_ZERO = U32(0x80000000)


@njit
def first_slot(bits):
    """Return the first slot: top 11 bits of a multiplicative hash."""
    return U32(U64(U64(bits) * U64(SPREAD)) & U64(0xFFFFFFFF)) >> U32(21)


@njit
def plain_bits(bits):
    """Return the bits of a float32, with -0 mapped to 0."""
    return U32(0) if bits == MINUS_ZERO else U32(bits)


@njit
def is_finite(bits):
    """Return True if the bits are those of a finite float32."""
    return U32(bits & EXPONENT) != EXPONENT


@njit
def pack_fields(user, item, code, item_shift, user_shift):
    """Return user | item | code, from high to low bits."""
    return U64(U64(U64(user) << U64(user_shift)) | U64(U64(item) << U64(item_shift)) | U64(code))
