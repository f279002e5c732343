"""Vertices by columns as a matrix of low rank: singular values are thresholded, and what is missing filled in, in turn.

    Z_next = S_t(M(Y) + (1 - M)(Z + momentum (Z - Z_before)))          S_t: singular values less t, 0 at least

Source: Mazumder, Hastie, Tibshirani, "Spectral regularization algorithms for learning large incomplete matrices",
JMLR 11 (2010), Algorithm 1; momentum, which takes half of its steps: Beck, Teboulle, SIAM J. Imaging Sci. 2 (2009),
begun anew where it points backwards (O'Donoghue, Candes, Found. Comput. Math. 15 (2015)).
"""

import numpy as np

from gpukit.imputation.baselines.means import level
from gpukit.imputation.problem import Method

SHARES = (0.1, 0.03, 0.3)  # thresholds, of the largest singular value of what is observed
STEPS = 25
CHANGE = 1e-2  # of the estimate, at which it stops
MOST_WORK = 1 << 37  # of additions
WHOLE = 512  # rows up to which all singular values are found; of more the largest, from those of the step before
TURNS = 4  # of the first search for the largest
SPARE = 10  # singular vectors beyond those that are kept


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
    wide = problem.values.shape[0] <= problem.values.shape[1]
    known = np.where(problem.seen, problem.values - base, 0.0).astype(np.float32)
    known, seen = (known, problem.seen) if wide else (np.ascontiguousarray(known.T), problem.seen.T)
    estimate = completed(known, seen, setting["share"])
    return base + (estimate if wide else estimate.T)


def completed(known, seen, share):
    """(n, m) float32 of low rank near known (n, m) float32 where seen; 0 elsewhere. n at most m; share: SHARES."""
    lower, before, ahead, momentum = Thresholding(share), np.zeros_like(known), known, 1.0
    for _ in range(STEPS):
        estimate = lower(ahead)
        change = estimate - before
        if np.vdot(ahead - estimate, change) > 0 and momentum > 1.0:
            momentum = 1.0
        following = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
        size, before = np.linalg.norm(change), estimate
        if size <= CHANGE * np.linalg.norm(estimate):
            break
        change *= (momentum - 1.0) / following
        ahead, momentum = np.where(seen, known, estimate + change), following
    return before


class Thresholding:
    """Singular values of matrices (n, m), one after another, less a share of the largest of the first."""

    def __init__(self, share):
        self.share, self.threshold, self.near = share, None, None

    def __call__(self, matrix):
        """The matrix with its singular values lowered."""
        left, values = self.decomposed(matrix)
        if self.threshold is None:
            self.threshold = self.share * float(values[0])
        kept = values > max(self.threshold, 1e-6 * float(values[0]))
        left, values = left[:, kept], values[kept]
        return left @ ((1.0 - self.threshold / values)[:, None] * (left.T @ matrix))

    def decomposed(self, matrix):
        """(left singular vectors (n, k), their values (k,), falling): all, or all that are above the threshold."""
        if len(matrix) <= WHOLE:
            return largest(matrix @ matrix.T)
        rng = np.random.default_rng(0)
        if self.near is None:
            self.near = rng.normal(size=(len(matrix), 4 * SPARE)).astype(np.float32)
            for _ in range(TURNS):
                self.near = np.linalg.qr(matrix @ (matrix.T @ self.near))[0]
        while True:
            self.near = np.linalg.qr(matrix @ (matrix.T @ self.near))[0]
            inner = self.near.T @ matrix
            vectors, values = largest(inner @ inner.T)
            least = self.threshold or self.share * float(values[0])
            kept = int((values > least).sum())
            if kept + SPARE // 2 <= len(values) or len(values) == len(matrix):
                self.near = self.near @ vectors[:, : kept + 2 * SPARE]
                return self.near, values[: kept + 2 * SPARE]
            more = rng.normal(size=(len(matrix), min(len(values), len(matrix) - len(values)))).astype(np.float32)
            self.near = np.column_stack((self.near, more))


def largest(squares):
    """(vectors, roots of the values) of a symmetric matrix, the largest value first."""
    values, vectors = np.linalg.eigh(squares)
    return vectors[:, ::-1], np.sqrt(np.maximum(values[::-1], 0.0))


METHODS = (Method("soft-impute", suits, settings, fill),)
