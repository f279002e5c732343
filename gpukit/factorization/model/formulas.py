"""Scalar formulas of the first factors, compiled for both devices."""

import numpy as np

from gpukit._jit import njit
from gpukit.random import long_bits

U32 = np.uint32
SPREAD = np.float32(0.02)  # deviation of the first factors; small ones overfit least
HALF_WIDTH = np.float32(np.float32(1.7320508) * SPREAD)  # of the uniform distribution with that deviation


@njit
def first_factor(key, number):
    """Return number `number` of the first factors.

    It is uniform with deviation SPREAD, a function of (key, number).
    """
    unit = np.float32(np.float32(long_bits(key, number) >> U32(8)) * np.float32(2.0**-23))
    return np.float32(np.float32(unit - np.float32(1.0)) * HALF_WIDTH)
