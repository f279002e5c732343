"""Host preparation of the hashing: keys, and the size of the sums. Integers only."""

from typing import NamedTuple

import numpy as np

from gpukit.random import key
from gpukit.streams import Keyed

SLICES_STEP = 8  # kernels are compiled for sums of this number of bits and its multiples


class Sums(NamedTuple):
    """The data that Algorithm 4 stores of N items.

    sums (N, slices, W) uint32, bit-sliced; whole (N,) int64: the sum of |weight| of each; codes (N, W) uint32: the
    signs of Eq. (3).
    """

    sums: object
    whole: object
    codes: object


def whole_slices(bits):
    """Return the number of slices of stored or compiled sums for sums of this number of bits."""
    return -(-bits // SLICES_STEP) * SLICES_STEP


def word_keys(seed, n_words):
    """Return the random key of each word of the users' codes H_i, (n_words,) uint32."""
    return np.array([key(seed, Keyed.SIMLSH_WORDS[word]) for word in range(n_words)], np.uint32)


def sum_slices(indptr, weights):
    """Return the number of bits of the largest possible sum of |weights| over a column, at least 1."""
    longest = int(np.diff(indptr).max(initial=0))
    return max(1, (longest * int(np.abs(weights).max(initial=0))).bit_length())
