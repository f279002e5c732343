"""Constants and moments of the bias-only predictor mu + b_i + b_j.

It is the baseline of every model and of the residuals in Eq. (1). prepare/training_data.py computes its biases.

b_j = sum(r - mu - b_i) / (n_j + damping) and the same for b_i, in a few sweeps: the paper's "simple case" of Eq. (1),
damped as usual (Koren 2010, sec. 2.1). Rows without ratings have bias 0.
"""

import math

import numpy as np

DAMPING = 5.0  # number of ratings without deviation that is added to every row and column
USUAL = (DAMPING, DAMPING)  # of users and of items; the default
SWEEPS = 3


def moments(values):
    """Return (mean, standard deviation) float64 of values (n,) float32."""
    piece = 1 << 16  # numbers that fit the cache
    mean = float(values.mean(dtype=np.float64)) if values.size else 0.0
    squares = 0.0
    for first in range(0, values.size, piece):
        away = values[first : first + piece] - np.float64(mean)
        squares += away @ away
    return mean, math.sqrt(squares / max(values.size, 1))


def weighted_moments(values, weights):
    """Return the weighted (mean, standard deviation) float64 of values.

    values (n,) float32, weights (n,).
    """
    mean = float(np.average(values, weights=weights))
    return mean, math.sqrt(np.average((values - np.float64(mean)) ** 2, weights=weights))
