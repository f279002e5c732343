"""Soft-impute on the CPU; gpu.py has the same interface."""

import numpy as np

from gpukit._pool import alone, shared_out
from gpukit.imputation.soft_impute import twins
from gpukit.imputation.soft_impute.iteration import run_alone
from gpukit.imputation.soft_impute.plan import BLOCKS


class Session:
    """See steps.Session."""

    def __init__(self, known, seen):
        self.known, self.seen, self.rows = known, seen, len(known)
        self.ahead, self.before, self.estimate = known.copy(), np.zeros_like(known), np.empty_like(known)
        self.kept, self.sums = None, np.empty((min(BLOCKS, known.size), 3))

    def squares(self):
        """See steps.Session."""
        return self.ahead @ self.ahead.T

    def turned(self, vectors):
        """See steps.Session."""
        return self.ahead @ (self.ahead.T @ vectors)

    def projected(self, vectors):
        """See steps.Session."""
        self.kept = vectors.T @ self.ahead
        return self.kept @ self.kept.T

    def lower(self, left, right):
        """See steps.Session."""
        inner = self.ahead if self.kept is None else self.kept
        np.matmul(*((right, inner) if left is None else (left, right @ inner)), out=self.estimate)

    def compare(self):
        """See steps.Session."""
        twins.compare(self.estimate.ravel(), self.before.ravel(), self.ahead.ravel(), self.sums)
        return self.sums.sum(axis=0).tolist()

    def proceed(self, momentum):
        """See steps.Session."""
        flat = [part.ravel() for part in (self.estimate, self.before, self.known, self.seen)]
        twins.proceed(*flat, np.float32(momentum), self.ahead.ravel())
        self.before, self.estimate = self.estimate, self.before

    def answer(self):
        """See steps.Session."""
        return self.before


def run_all(iterations):
    """Run all steps, a matrix per thread: see steps.run_all."""
    if len(iterations) == 1:
        return run_alone(iterations[0])
    with alone():
        shared_out(run_alone, iterations)
