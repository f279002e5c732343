"""What the host decides before the hashing: keys, and how large the sums are. Integers only."""

from typing import NamedTuple

import numpy as np

from gpukit.random import key
from gpukit.streams import Keyed

SLICES_STEP = 8  # kernels are compiled for sums of so many bits, and twice, three times as many


class Sums(NamedTuple):
    """What Algorithm 4 keeps of N items: sums (N, slices, W) uint32, bit-sliced; whole (N,) int64, the sum of |weight|
    of each; codes (N, W) uint32, the signs of Eq. (3)."""

    sums: object
    whole: object
    codes: object


def whole_slices(bits):
    """Slices of kept or compiled sums that need so many bits."""
    return -(-bits // SLICES_STEP) * SLICES_STEP


def word_keys(seed, n_words):
    """(n_words,) uint32: the random key of each word of the users' codes H_i."""
    return np.array([key(seed, Keyed.SIMLSH_WORDS[word]) for word in range(n_words)], np.uint32)


def sum_slices(indptr, weights):
    """Bits that the largest sum of |weights| over a column can need, at least 1."""
    longest = int(np.diff(indptr).max(initial=0))
    return max(1, (longest * int(np.abs(weights).max(initial=0))).bit_length())
