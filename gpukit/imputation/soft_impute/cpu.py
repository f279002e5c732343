"""Soft-impute on the CPU; gpu.py has the same interface."""

import numpy as np

from gpukit._pool import alone, shared_out
from gpukit.imputation.constants import BLOCKS
from gpukit.imputation.soft_impute import twins
from gpukit.imputation.soft_impute.iteration import run_alone


class DeviceMatrix:
    """A matrix (n, m) on a device, initially known (n, m) float32, 0 where not seen (bool). rows: n."""

    def __init__(self, known, seen):
        self.known, self.seen, self.rows = known, seen, len(known)
        self.ahead, self.before, self.estimate = known.copy(), np.zeros_like(known), np.empty_like(known)
        self.kept, self.sums = None, np.empty((min(BLOCKS, known.size), 3))

    def squares(self):
        """Return (n, n) float32 on the host: the matrix times its transpose."""
        return self.ahead @ self.ahead.T

    def multiply_squares(self, vectors):
        """Return (n, k) float32 on the host: the squares times vectors (n, k)."""
        return self.ahead @ (self.ahead.T @ vectors)

    def project(self, vectors):
        """Return (k, k) float32 on the host: the squares of vectors' (n, k) products, which are stored."""
        self.kept = vectors.T @ self.ahead
        return self.kept @ self.kept.T

    def lower(self, left, right):
        """Compute the estimate: left (n, k), None for 1, times right (k, j), times the stored product or matrix."""
        inner = self.ahead if self.kept is None else self.kept
        np.matmul(*((right, inner) if left is None else (left, right @ inner)), out=self.estimate)

    def compare(self):
        """Return (product of matrix less estimate and the estimate's change, its change squared, its square)."""
        twins.compare(self.estimate.ravel(), self.before.ravel(), self.ahead.ravel(), self.sums)
        return self.sums.sum(axis=0).tolist()

    def proceed(self, momentum):
        """Compute the next matrix: known values, elsewhere the estimate plus momentum."""
        flat = [part.ravel() for part in (self.estimate, self.before, self.known, self.seen)]
        twins.proceed(*flat, np.float32(momentum), self.ahead.ravel())
        self.before, self.estimate = self.estimate, self.before

    def estimated(self):
        """Return (n, m) float32 on the host: the last estimate."""
        return self.before


def run_all(iterations):
    """Run all steps, a matrix per thread."""
    if len(iterations) == 1:
        return run_alone(iterations[0])
    with alone():
        shared_out(run_alone, iterations)
