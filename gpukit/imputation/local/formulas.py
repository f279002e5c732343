"""Scalar maths of the local regression, for both devices."""

from gpukit._jit import njit


@njit(inline="always")
def share_between(left, here, right):
    """How far `here` is on the way from left to right, 0 to 1; 0 where they are one."""
    return (here - left) / (right - left) if right > left else here - here


@njit(inline="always")
def between(left, right, share):
    """The line from left to right, at a share of the way."""
    return left + share * (right - left)


@njit(inline="always")
def weight_of(residual, least):
    """1 / |residual|, at most 1 / least: reweighted squares of this are absolute values."""
    size = abs(residual)
    return 1.0 / (size if size > least else least)
