"""Scalar maths of a live model, compiled for both devices."""

import numpy as np

from gpukit._jit import njit

U64 = np.uint64
ASIDE = U64(1 << 63)  # a mark on a rating's key, above all its parts: sorted by it alone, marked ones come last


@njit
def field(key, shift, width):
    """The `width` bits of a 64-bit key from `shift` on, as uint64."""
    return U64(U64(key >> U64(shift)) & U64((U64(1) << U64(width)) - U64(1)))
