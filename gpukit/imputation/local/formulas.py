"""Scalar formulas of the local regression, for both devices."""

from gpukit._jit import njit
from gpukit.imputation.constants import MOST_SERIES

OWN = 6  # features of a vertex's own: two and three values before and after the gap, its ends, a constant
SIDE = OWN + 4 * (MOST_SERIES + 2)  # largest number of features
THREADS = 128
TILE = 32  # values of a block's tile
CELL = 4  # squared: sums of a thread
ROW = SIDE + 1 + CELL  # numbers of a value in a tile: features, target, padding for the last thread


def features(series):
    """Return the number of features with a number of other series."""
    return OWN + 4 * series


@njit(inline="always")
def share_between(left, here, right):
    """Return the position of `here` between left and right, 0 to 1; 0 if they are equal."""
    return (here - left) / (right - left) if right > left else here - here


@njit(inline="always")
def between(left, right, share):
    """Return the point of the line from left to right at a share of its length."""
    return left + share * (right - left)


@njit(inline="always")
def weight_of(residual, least):
    """Return 1 / |residual|, at most 1 / least: squares reweighted by it are absolute values."""
    size = abs(residual)
    return 1.0 / (size if size > least else least)
