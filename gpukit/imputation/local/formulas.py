"""Scalar formulas of the local regression, for both devices."""

from gpukit._jit import njit

OWN = 6  # features of a vertex's own: two and three values before and after the gap, its ends, a constant
EACH = 4  # features of another series
MOST = 8  # series of other vertices; two more are the vertex's own: of low rank, a period away
SIDE = OWN + EACH * (MOST + 2)  # largest number of features
THREADS = 128
TILE = 32  # values of a block's tile
CELL = 4  # squared: sums of a thread
ROW = SIDE + 1 + CELL  # numbers of a value in a tile: features, target, padding for the last thread
LEAST = 0.1  # of the mean |residual|: lower bound of residuals in weights


def features(series):
    """Return the number of features with a number of other series."""
    return OWN + EACH * series


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
