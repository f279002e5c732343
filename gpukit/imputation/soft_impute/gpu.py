"""Soft-impute on a GPU; cpu.py has the same interface."""

import numpy as np

from gpukit._driver import launch
from gpukit.imputation.constants import BLOCKS, THREADS
from gpukit.imputation.soft_impute import kernels
from gpukit.imputation.soft_impute.iteration import run_together
from gpukit.imputation.spectral.gpu import array_library, shared


class DeviceMatrix:
    """See cpu.DeviceMatrix."""

    def __init__(self, known, seen):
        cp = array_library()
        self.rows, self.kept = len(known), None
        known, seen, self.sums = cp.asarray(known), cp.asarray(seen), cp.empty((BLOCKS, 3), np.float64)
        self.ahead, self.before, self.estimate = known.copy(), cp.zeros_like(known), cp.empty_like(known)
        self.given, self.next, self.parts = flat_of(known, seen), *flat_of(self.ahead), shared(self.sums)
        self.pair = flat_of(self.estimate, self.before)

    def squares(self):
        """See cpu.DeviceMatrix."""
        return (self.ahead @ self.ahead.T).get()

    def multiply_squares(self, vectors):
        """See cpu.DeviceMatrix."""
        return (self.ahead @ (self.ahead.T @ sent(vectors))).get()

    def project(self, vectors):
        """See cpu.DeviceMatrix."""
        self.kept = sent(vectors).T @ self.ahead
        return (self.kept @ self.kept.T).get()

    def lower(self, left, right):
        """See cpu.DeviceMatrix."""
        inner = self.ahead if self.kept is None else self.kept
        pair = (sent(right), inner) if left is None else (sent(left), sent(right) @ inner)
        array_library().matmul(*pair, out=self.estimate)

    def compare(self):
        """See cpu.DeviceMatrix."""
        launch(kernels.compare, BLOCKS, THREADS, *self.pair, self.next, self.parts)
        return self.sums.get().sum(axis=0).tolist()

    def proceed(self, momentum):
        """See cpu.DeviceMatrix."""
        launch(kernels.proceed, BLOCKS, THREADS, *self.pair, *self.given, np.float32(momentum), self.next)
        self.before, self.estimate, self.pair = self.estimate, self.before, self.pair[::-1]

    def estimated(self):
        """See cpu.DeviceMatrix."""
        return self.before.get()


def run_all(iterations):
    """Run all steps, one step of all matrices at a time."""
    run_together(iterations)


def sent(array):
    """Return a host array on the device."""
    return array_library().asarray(np.ascontiguousarray(array))


def flat_of(*arrays):
    """Return cupy arrays as numba's, flat."""
    return [shared(array.ravel()) for array in arrays]
