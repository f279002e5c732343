"""Scalar formulas of the local regression, for both devices."""

from gpukit._jit import njit


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
