"""Host preparation of the projections."""

import numpy as np

from gpukit.normals import bits
from gpukit.random import key
from gpukit.streams import Keyed


def direction_keys(seed, n_bits):
    """Return the random key of the direction of each bit, (n_bits,) uint32."""
    return bits(np.uint32(key(seed, Keyed.PROJECTION[0])), n_bits)
