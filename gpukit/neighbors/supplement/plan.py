"""Host preparation of the supplement: the random order for an item's empty slots."""

import numpy as np

from gpukit.random import key
from gpukit.streams import Keyed


def supplement_key(seed):
    """Return the uint32 key of the random supplement."""
    return np.uint32(key(seed, Keyed.SUPPLEMENT[0]))


def permutation_half(n_items):
    """Return half the number of bits of the permutation of `random.shuffled`."""
    return max(1, -(-(n_items - 1).bit_length() // 2))
