"""Vertices by columns as a matrix of low rank: singular values are thresholded, and what is missing filled in, in turn.

Source: Mazumder, Hastie, Tibshirani, "Spectral regularization algorithms for learning large incomplete matrices",
JMLR 11 (2010), Algorithm 1.
"""

import numpy as np

from gpukit.imputation.baselines.means import level
from gpukit.imputation.problem import Method

SHARES = (0.1, 0.03, 0.3)  # thresholds, of the largest singular value of what is observed
STEPS = 25
CHANGE = 1e-3  # of the estimate, at which it stops
MOST_WORK = 1 << 37  # of additions


def suits(problem):
    """Two vertices and columns at least, and no more than can be decomposed at every step."""
    small, large = sorted(problem.values.shape)
    return small > 2 and small * small * large < MOST_WORK


def settings(problem):
    """The threshold."""
    return [{"share": share} for share in SHARES]


def fill(problem, setting):
    """The estimate, with a mean of vertices and columns taken off and put back."""
    base = level(problem, "both")
    rest = np.where(problem.seen, problem.values - base, 0.0)
    size = float(np.abs(rest).max()) or 1.0
    rest = (rest / size).astype(np.float32)
    wide = rest if rest.shape[0] <= rest.shape[1] else rest.T
    seen = problem.seen if wide is rest else problem.seen.T
    estimate, threshold = np.zeros_like(wide), None
    for _ in range(STEPS):
        new, threshold = thresholded(np.where(seen, wide, estimate), setting["share"], threshold)
        change = np.linalg.norm(new - estimate)
        estimate = new
        if change <= CHANGE * np.linalg.norm(new):
            break
    return base + size * (estimate if wide is rest else estimate.T)


def thresholded(matrix, share, threshold):
    """(the matrix with its singular values lowered, the threshold: a share of the largest where None is given)."""
    squares, left = np.linalg.eigh((matrix @ matrix.T).astype(np.float64))
    values = np.sqrt(np.maximum(squares, 0.0))
    threshold = share * values[-1] if threshold is None else threshold
    kept = values > max(threshold, 1e-7 * values[-1])
    left = left[:, kept].astype(matrix.dtype)
    shrunk = (1.0 - threshold / values[kept]).astype(matrix.dtype)
    return left @ (shrunk[:, None] * (left.T @ matrix)), threshold


METHODS = (Method("soft-impute", suits, settings, fill),)
