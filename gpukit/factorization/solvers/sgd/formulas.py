"""Scalar formulas of CUSGD++ and CULSH-MF, used by kernel and twin alike.

Equations are those of Li et al., "Locality Sensitive Hash Aggregated Nonlinear Neighborhood Matrix Factorization",
2022. Ratings are centred and scaled before training, so mu is 0 here and one set of rates suits any rating scale.
"""

import math
from typing import NamedTuple

import numpy as np

from gpukit._jit import njit
from gpukit.factorization.arrays import Batch

F32, U32 = np.float32, np.uint32
ONE = F32(1.0)
ZERO = F32(0.0)
PLAIN = len(Batch._fields)
RUN = 128  # consecutive ratings of a sample of kernels.make_grow_rows
LEAST_CHANGE = F32(1e-6)


class Rates(NamedTuple):
    """Rates of an epoch, all float32.

    factor, bias, influence: learning rates gamma; factor_gain (of factors and influences), bias_gain: decrease of a
    row's rate with its squared errors (0: none, the paper's Eq. 7); *_decay: the lambdas of Eq. (2).
    """

    factor: np.float32
    factor_gain: np.float32
    factor_decay: np.float32
    bias: np.float32
    bias_gain: np.float32
    bias_decay: np.float32
    influence: np.float32
    influence_decay: np.float32


@njit
def weight_of(batch, t):
    """Return the weight of rating t of an arrays.Batch: 1, or that of a WeightedBatch, decided at compile time.

    The weight multiplies rates, and e^2 in a row's sum, as if the rating occurred that often.
    """
    if len(batch) > PLAIN:
        return batch.weights[t]
    return ONE


@njit
def row_rate(rate, gain, squares):
    """rate / sqrt(1 + gain s): AdaGrad (Duchi 2011) with one sum a row; s is the row's sum of squared errors e^2."""
    return F32(rate / F32(math.sqrt(F32(ONE + F32(gain * squares)))))


@njit
def factor_change(own, other, error, rate, decay):
    """Eq. (5), u and v: gamma (e other - lambda own)."""
    return F32(rate * F32(F32(error * other) - F32(decay * own)))


@njit
def bias_change(bias, error, rate, decay):
    """Eq. (5), b: gamma (e - lambda b)."""
    return F32(rate * F32(error - F32(decay * bias)))


@njit
def influence_change(own, signal, rate, decay):
    """Eq. (5), w and c: gamma (signal - lambda own); signal is |R|^-1/2 e (r - b) for w and |N|^-1/2 e for c."""
    return F32(rate * F32(signal - F32(decay * own)))


@njit
def set_scale(count):
    """|S|^-1/2 of Eq. (1), and 0 for the empty set."""
    if count > 0:
        return F32(ONE / F32(math.sqrt(F32(count))))
    return ZERO


def falling_rate(alpha, beta, epoch):
    """Eq. (7): alpha / (1 + beta t^1.5), t the epoch from 0."""
    return alpha / (1.0 + beta * epoch**1.5)


@njit
def change_weight(x, ranks):
    """Return the weight of the sum of `ranks` ranks' changes to a row, x float32: see shared.partition.paces."""
    if x < LEAST_CHANGE:
        return F32(1.0)
    return F32(F32(math.expm1(F32(-ranks * x))) / F32(ranks * F32(math.expm1(F32(-x)))))


@njit
def spread_bits(four):
    """Return a uint32 whose byte b is bit b of `four` (four bits): 0 or 1."""
    return U32(U32(four * U32(0x00204081)) & U32(0x01010101))
