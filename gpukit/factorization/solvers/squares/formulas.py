"""Scalar formulas of least squares over many rows, used by kernel and twin alike.

A row's problem, the other side's factors v and biases b held: over its ratings, of value z and weight w, the least of

    sum w (z - b - v u - c)^2 + u' S u + lambda |u|^2 + d c^2,

with S the same for all rows, a lambda of each row's own and damping d of the row's bias c. Its answer (u, c) solves the
normal equations, whose numbers are all in sum w y y', y = (v, 1, z - b), and in S, lambda and d.
"""

import math

import numpy as np

from gpukit._jit import njit

F32 = np.float32
ONE, ZERO = F32(1.0), F32(0.0)
LEFT = F32(4 * 2.0**-23)  # share of a square below which what eliminating has left of it is rounding


@njit
def weight_at(number, bias, decay, damping):
    """What is added to the diagonal in a place: lambda for the factors, the damping for the bias."""
    if number < bias:
        return decay
    return damping if number == bias else ZERO


@njit
def inverse_pivot(pivot, square):
    """1 / sqrt(pivot) of Cholesky's elimination; 0, which leaves the unknown at 0, where nothing of its square is
    left."""
    if pivot > F32(LEFT * square):
        return F32(ONE / F32(math.sqrt(pivot)))
    return ZERO


@njit
def over_pivot(pivot, whole):
    """1 / pivot of what eliminating has left of a number on the diagonal, float64; 0 where that is rounding of
    a float32."""
    return 1.0 / pivot if pivot > np.float64(LEFT) * whole else 0.0


@njit
def quotient(above, below):
    """above / below; 0 where that is no step forward."""
    return F32(above / below) if below > ZERO else ZERO
