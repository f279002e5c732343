"""Scalar formulas of least squares over many rows, used by kernel and twin alike.

With the other side's factors v and biases b fixed, a row minimizes over its ratings, of value z and weight w,

    sum w (z - b - v u - c)^2 + u' S u + lambda |u|^2 + d c^2,

with S the same for all rows, a lambda for each row and damping d of the row's bias c. The solution (u, c) satisfies the
normal equations, which consist of sum w y y', y = (v, 1, z - b), and of S, lambda and d.
"""

import math

import numpy as np

from gpukit._jit import njit

F32 = np.float32
ONE, ZERO = F32(1.0), F32(0.0)
TINY = np.finfo(F32).tiny  # the smallest normal number; a GPU's reciprocal of a smaller one is infinite
LEFT = F32(4 * 2.0**-23)  # share of the original diagonal below which a pivot is rounding


@njit
def weight_at(number, bias, decay, damping):
    """Return the number added to the diagonal: lambda for factors, the damping for the bias."""
    if number < bias:
        return decay
    return damping if number == bias else ZERO


@njit
def inverse_pivot(pivot, square):
    """Return 1 / sqrt(pivot) of Cholesky's elimination; 0, which sets the unknown to 0, if the pivot is rounding."""
    if pivot > F32(LEFT * square) and pivot >= TINY:
        return F32(ONE / F32(math.sqrt(pivot)))
    return ZERO


@njit
def invert_pivot(pivot, whole):
    """Return 1 / pivot, float64; 0 if the pivot is rounding of a float32 number `whole`."""
    return 1.0 / pivot if pivot > np.float64(LEFT) * whole else 0.0


@njit
def quotient(above, below):
    """Return above / below; 0 if below is not a positive normal number."""
    return F32(above / below) if below >= TINY else ZERO
