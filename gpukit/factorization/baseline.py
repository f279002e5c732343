"""Facts of the bias-only predictor mu + b_i + b_j: what every model has to beat, and the baseline of the residuals in
Eq. (1). prepare/training_data.py computes its biases, where the work is.

b_j = sum(r - mu - b_i) / (n_j + damping) and the same for b_i, a few times around: the paper's "simple case" of Eq.
(1), damped as usual (Koren 2010, sec. 2.1). Rows without ratings have bias 0.
"""

import math

import numpy as np

DAMPING = 5.0  # ratings' worth of "no deviation" that every row and column starts with
USUAL = (DAMPING, DAMPING)  # of users and of items, unless chosen
SWEEPS = 3
PIECE = 1 << 16  # numbers that stay near the processor


def moments(values):
    """(mean, standard deviation) float64 of values (n,) float32."""
    mean = float(values.mean(dtype=np.float64)) if values.size else 0.0
    squares = 0.0
    for first in range(0, values.size, PIECE):
        away = values[first : first + PIECE] - np.float64(mean)
        squares += away @ away
    return mean, math.sqrt(squares / max(values.size, 1))


def weighted_moments(values, weights):
    """(mean, standard deviation) float64 of values (n,) float32 that count by weights (n,)."""
    mean = float(np.average(values, weights=weights))
    return mean, math.sqrt(np.average((values - np.float64(mean)) ** 2, weights=weights))
