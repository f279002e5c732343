"""Scalar formulas of alternating least squares, used by kernel and twin alike.

A row's problem, the other side's factors v and biases b held: over its ratings z, the least of

    sum (z - b - u v - c)^2 + lambda n |u|^2 + d c^2,    n: how many they are (weighted lambda, Zhou et al. 2008),

with damping d of the row's bias c; ratings that count differently are weighted, and n is the sum of their weights.
Its answer (u, c) solves the normal equations, whose numbers are all in sum y y', y = (v, 1, z - b), and the weights
lambda n and d.
"""

import math

import numpy as np

from gpukit._jit import njit

F32 = np.float32
ONE, ZERO = F32(1.0), F32(0.0)
PAIRED = 2  # dimensions of values with the roots of weights
LEFT = F32(4 * 2.0**-23)  # share of a square below which what eliminating has left of it is rounding


@njit
def weighted(decay, count):
    """lambda n."""
    return F32(decay * F32(count))


@njit
def value_at(values, t):
    """z of rating t; values (n,), or (n, 2) with the root of its weight behind, which is known when this is
    compiled."""
    if values.ndim == PAIRED:
        return values[t, 0]
    return values[t]


@njit
def root_at(values, t):
    """The root of rating t's weight, 1 without weights: y is times it, so that y y' is weighted."""
    if values.ndim == PAIRED:
        return values[t, 1]
    return ONE


@njit
def weight_at(number, bias, factor_weight, damping):
    """What is added to the diagonal in a place: lambda n for the factors, the damping for the bias."""
    if number < bias:
        return factor_weight
    return damping if number == bias else ZERO


@njit
def inverse_pivot(pivot, square):
    """1 / sqrt(pivot) of Cholesky's elimination; 0, which leaves the unknown at 0, where nothing of its square is
    left."""
    if pivot > F32(LEFT * square):
        return F32(ONE / F32(math.sqrt(pivot)))
    return ZERO


@njit
def quotient(above, below):
    """above / below; 0 where that is no step forward."""
    return F32(above / below) if below > ZERO else ZERO
