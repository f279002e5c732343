"""Smoothness on a GPU; cpu.py has the same interface."""

import numpy as np

from gpukit._driver import copy_in, device_array, launch, zeros
from gpukit.device.upload import to_device
from gpukit.imputation.constants import THREADS
from gpukit.imputation.smoothness import kernels
from gpukit.imputation.smoothness.formulas import BLOCKS


class ConjugateGradients:
    """See cpu.ConjugateGradients."""

    def __init__(self, observed, start):
        self.seen, self.gaps, self.lags = upload_mask(observed.seen), to_device(observed.gaps), to_device(observed.lags)
        self.edges = [to_device(part) for part in (observed.first, observed.neighbors, observed.weights)]
        self.values, self.x = to_device(observed.values), to_device(np.array(start, np.float32))
        shape = observed.values.shape
        self.direction, self.out, self.shared, self.own, self.residual, self.scaled, self.inverse = (
            device_array(shape, np.float32) for _ in range(7)
        )
        self.none = zeros(shape, np.float32)
        parts = self.direction, self.out, self.inverse, self.x, self.residual, self.scaled
        self.flat = [part.ravel() for part in parts]
        self.sums = device_array(BLOCKS, np.float64)
        self.total = np.empty(BLOCKS)

    def set_weights(self, near, steady, together, inverse):
        """See cpu.ConjugateGradients."""
        self.weights = near, to_device(steady), to_device(together)
        self.inverse.copy_to_device(np.ascontiguousarray(inverse))
        self.direction.copy_to_device(self.x)
        self.residual.copy_to_device(self.values)
        self.x.copy_to_device(self.none)

    def multiply(self):
        """See cpu.ConjugateGradients."""
        between = self.seen, self.gaps, self.lags
        launch(kernels.differ, BLOCKS, THREADS, self.direction, *between, *self.weights, self.shared, self.own)
        launch(kernels.spread, BLOCKS, THREADS, self.shared, self.own, *self.edges, self.direction, self.out, self.sums)
        return self.sum()

    def advance(self, length):
        """See cpu.ConjugateGradients."""
        launch(kernels.advance, BLOCKS, THREADS, np.float32(length), *self.flat, self.sums)
        return self.sum()

    def redirect(self, share):
        """See cpu.ConjugateGradients."""
        launch(kernels.redirect, BLOCKS, THREADS, np.float32(share), self.flat[-1], self.flat[0])

    def solution(self):
        """See cpu.ConjugateGradients."""
        return self.x.copy_to_host()

    def sum(self):
        """Return the sum of the blocks' sums."""
        self.sums.copy_to_host(self.total)
        return float(self.total.sum())


def upload_mask(mask):
    """Return a mask on the device."""
    out = device_array(mask.shape, np.bool_)
    copy_in(mask, out)
    return out
