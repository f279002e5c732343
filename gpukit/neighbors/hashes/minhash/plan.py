"""Host preparation of the minwise hashing."""

import numpy as np

from gpukit.normals import bits
from gpukit.random import key
from gpukit.streams import Keyed


def hashing_keys(seed, count):
    """Return the random key of each hashing, (count,) uint32."""
    return bits(np.uint32(key(seed, Keyed.MINHASH[0])), count)
