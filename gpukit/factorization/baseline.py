"""The bias-only predictor mu + b_i + b_j: what every model has to beat, and the baseline of the residuals in Eq.
(1)."""

import math

import numpy as np

from gpukit._jit import njit, prange

DAMPING = 5.0  # ratings' worth of "no deviation" that every row and column starts with
SWEEPS = 3
PARTS = 16  # the ratings are summed in so many parts, whatever the threads
PIECE = 1 << 16  # numbers that stay near the processor


def bias_predictor(ratings, damping=DAMPING):
    """(mean, user_bias (M,), item_bias (N,)) float64 of a Ratings: alternating damped means of the residuals.

    b_j = sum(r - mu - b_i) / (n_j + damping) and the same for b_i, a few times around: the paper's "simple case" of
    Eq. (1), damped as usual (Koren 2010, sec. 2.1). Rows without ratings have bias 0.
    """
    mean, _ = moments(ratings.values)
    return mean, *alternating_biases(ratings.users, ratings.items, ratings.values, mean, ratings.shape, damping)


def alternating_biases(users, items, values, mean, shape, damping=DAMPING):
    """(user_bias, item_bias) float64 of ratings (n,) float32 less their mean."""
    user_bias = np.zeros(shape[0])
    users_n, items_n = (row_counts(rows, n_rows) + damping for rows, n_rows in zip((users, items), shape))
    for _ in range(SWEEPS):
        item_bias = residual_sums(items, users, values, mean, user_bias, shape[1]) / items_n
        user_bias = residual_sums(users, items, values, mean, item_bias, shape[0]) / users_n
    return user_bias, item_bias


def moments(values):
    """(mean, standard deviation) float64 of values (n,) float32."""
    mean = float(values.mean(dtype=np.float64)) if values.size else 0.0
    squares = 0.0
    for first in range(0, values.size, PIECE):
        away = values[first : first + PIECE] - np.float64(mean)
        squares += away @ away
    return mean, math.sqrt(squares / max(values.size, 1))


@njit(parallel=True)
def row_counts(rows, n_rows):
    """(n_rows,) int64: how often each row number occurs."""
    counts = np.zeros((PARTS, n_rows), np.int64)
    for part in prange(PARTS):
        for t in range(rows.size * part // PARTS, rows.size * (part + 1) // PARTS):
            counts[part, rows[t]] += 1
    for row in prange(n_rows):
        for part in range(1, PARTS):
            counts[0, row] += counts[part, row]
    return counts[0]


@njit(parallel=True)
def residual_sums(rows, others, values, mean, other_bias, n_rows):
    """(n_rows,) float64: each row's sum of values - mean - other_bias; the same for any number of threads."""
    sums = np.zeros((PARTS, n_rows))
    for part in prange(PARTS):
        for t in range(rows.size * part // PARTS, rows.size * (part + 1) // PARTS):
            sums[part, rows[t]] += (values[t] - mean) - other_bias[others[t]]
    total = np.zeros(n_rows)
    for row in prange(n_rows):
        for part in range(PARTS):
            total[row] += sums[part, row]
    return total
