"""Scalar functions of the exact search: two sums per word, and the keys of a pair.

A pair of click columns has one sum, the number of common users. Ratings are whole numbers x of one item, y of the
other. Three words contain all six sums over their common raters: a sum of squares or products in the lower bits, a
plain sum or the count in the upper ones.

    own: (sum x^2, sum x)     other: (sum y^2, sum y)     both: (sum x y, n)

A long column is divided into parts short enough for words of 32 bits (`packing`), which are added to words of 64.
"""

import math

import numpy as np

from gpukit._jit import njit
from gpukit.neighbors.formulas import NOBODY, bit_length
from gpukit.selection.formulas import descending_key

U32, I64 = np.uint32, np.int64
SHRINKAGE = 100  # lambda_rho of the paper's section 5.3
DAMPING = 10  # of the cosine: common users at which a pair of rare items counts half, about
SQUARE_BITS = 35  # bits of a 64-bit word for the sum of squares or products
COUNT_BITS = 28  # bits for the plain sum or the count
PART = 12  # bits of the number of users of a part
SQUARES = I64((1 << SQUARE_BITS) - 1)
SCALE = np.float64(1 << 31)
ONE = np.float64(1.0)


@njit
def packing(most):
    """Return (users of a part, shift of the upper half of its 32-bit words) for ratings of at most `most`."""
    part = PART
    while True:
        users = (1 << part) - 1
        shift = bit_length(users * most * most)
        if part == 1 or shift + bit_length(users * max(most, 1)) <= 32:
            return users, shift
        part -= 1


@njit
def wide(word, shift):
    """Return a 32-bit word of a part as one of 64 bits."""
    square = I64(word & U32((1 << shift) - 1))
    return I64(square + (I64(word >> U32(shift)) << I64(SQUARE_BITS)))


@njit(fastmath=False)  # without fastmath, because devices would round differently
def pair_key(own, other, both):
    """Return the key of a pair: 2**31 (1 - n / (n + lambda) rho), rounded down; NOBODY unless that is below 2**31.

    rho = (n sum xy - sum x sum y) / sqrt((n sum x^2 - (sum x)^2) (n sum y^2 - (sum y)^2)). The paper's S_jk.
    """
    n, xy = both >> I64(SQUARE_BITS), both & SQUARES
    x, xx = own >> I64(SQUARE_BITS), own & SQUARES
    y, yy = other >> I64(SQUARE_BITS), other & SQUARES
    shared = I64(n * xy - x * y)
    if shared <= 0:  # also if one of them is constant
        return NOBODY
    spread = math.sqrt(np.float64(n * xx - x * x) * np.float64(n * yy - y * y))
    similarity = (np.float64(n) * np.float64(shared)) / (np.float64(n + SHRINKAGE) * spread)
    return U32((ONE - similarity) * SCALE)


@njit(fastmath=False)
def cosine_key(own, other, both):
    """Return the key of a damped cosine of clicks, the largest first: both / (sqrt(own other) + DAMPING), float32.

    own, other: users of each item; both: common users, above 0.
    """
    length = math.sqrt(np.float64(own) * np.float64(other))
    return descending_key(np.float32(np.float64(both) / (length + np.float64(DAMPING))))
