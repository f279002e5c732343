"""What the host decides before the hashing: keys, and how large the sums are. Integers only."""

import numpy as np

from gpukit.random import key
from gpukit.streams import Keyed


def word_keys(seed, n_words):
    """(n_words,) uint32: the random key of each word of the users' codes H_i."""
    return np.array([key(seed, Keyed.SIMLSH_WORDS[word]) for word in range(n_words)], np.uint32)


def sum_slices(indptr, weights):
    """Bits that the largest sum of |weights| over a column can need, at least 1."""
    longest = int(np.diff(indptr).max(initial=0))
    return max(1, (longest * int(np.abs(weights).max(initial=0))).bit_length())
