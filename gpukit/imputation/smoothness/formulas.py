"""Scalar formulas of smoothness over graph and time, for both devices."""

from gpukit._jit import njit


@njit(inline="always")
def pull(here, other, weight):
    """Return one edge's part of a Laplacian's product: weight (here - other)."""
    return weight * (here - other)


@njit(inline="always")
def step_along(value, momentum, direction):
    """Return value + momentum * direction."""
    return value + momentum * direction
