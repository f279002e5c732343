"""What the host decides before the supplement: the random order that an item's free slots are filled in."""

import numpy as np

from gpukit.random import key
from gpukit.streams import Keyed


def supplement_key(seed):
    """The uint32 key of the random supplement."""
    return np.uint32(key(seed, Keyed.SUPPLEMENT[0]))


def permutation_half(n_items):
    """Half the bits of the permutation that `random.shuffled` walks."""
    return max(1, -(-(n_items - 1).bit_length() // 2))
