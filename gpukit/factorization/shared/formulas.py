"""Scalar formulas of training over ranks, used by kernel and twin alike."""

import math

import numpy as np

from gpukit._jit import njit

F32 = np.float32
LEAST = F32(1e-6)


@njit
def share_of(x, ranks):
    """Return the weight of the sum of `ranks` ranks' changes to a row, x float32: see damping.paces."""
    if x < LEAST:
        return F32(1.0)
    return F32(F32(math.expm1(F32(-ranks * x))) / F32(ranks * F32(math.expm1(F32(-x)))))
