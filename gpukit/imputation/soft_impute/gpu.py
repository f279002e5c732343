"""Soft-impute on a GPU; cpu.py has the same."""

import numpy as np

from gpukit.imputation.soft_impute import kernels
from gpukit.imputation.soft_impute.plan import BLOCKS, THREADS
from gpukit.imputation.spectral.gpu import array_library, shared


class Session:
    """See steps.Session."""

    def __init__(self, known, seen):
        cp = array_library()
        self.known, self.seen, self.rows = cp.asarray(known), cp.asarray(seen), len(known)
        self.ahead, self.before, self.estimate = (
            self.known.copy(),
            cp.zeros_like(self.known),
            cp.empty_like(self.known),
        )
        self.kept, self.sums = None, cp.empty((BLOCKS, 3), np.float64)

    def squares(self):
        """See steps.Session."""
        return (self.ahead @ self.ahead.T).get()

    def turned(self, vectors):
        """See steps.Session."""
        return (self.ahead @ (self.ahead.T @ sent(vectors))).get()

    def projected(self, vectors):
        """See steps.Session."""
        self.kept = sent(vectors).T @ self.ahead
        return (self.kept @ self.kept.T).get()

    def lower(self, left, right):
        """See steps.Session."""
        inner = self.ahead if self.kept is None else self.kept
        pair = (sent(right), inner) if left is None else (sent(left), sent(right) @ inner)
        array_library().matmul(*pair, out=self.estimate)

    def compare(self):
        """See steps.Session."""
        flat = flat_of(self.estimate, self.before, self.ahead)
        kernels.compare[BLOCKS, THREADS](*flat, shared(self.sums))
        return self.sums.get().sum(axis=0).tolist()

    def proceed(self, momentum):
        """See steps.Session."""
        flat = flat_of(self.estimate, self.before, self.known, self.seen)
        kernels.proceed[BLOCKS, THREADS](*flat, np.float32(momentum), *flat_of(self.ahead))
        self.before, self.estimate = self.estimate, self.before

    def answer(self):
        """See steps.Session."""
        return self.before.get()


def each(function, walks):
    """See steps.each: one after another."""
    return [function(walk) for walk in walks]


def sent(array):
    """An array of the host, on the device."""
    return array_library().asarray(np.ascontiguousarray(array))


def flat_of(*arrays):
    """cupy's arrays as numba's, flat."""
    return [shared(array.ravel()) for array in arrays]
