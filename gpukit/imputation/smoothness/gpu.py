"""Smoothness on a GPU; cpu.py has the same."""

import numpy as np

from gpukit._cuda import cuda
from gpukit.imputation.smoothness import kernels
from gpukit.imputation.smoothness.plan import BLOCKS, THREADS


class Session:
    """See steps.Session."""

    def __init__(self, ground, start):
        self.seen, self.gaps, self.lags = map(uploaded, (ground.seen, ground.gaps, ground.lags))
        self.edges = [uploaded(part) for part in (ground.first, ground.neighbors, ground.weights)]
        self.values, self.x = uploaded(ground.values), uploaded(np.array(start, np.float32))
        shape = ground.values.shape
        self.direction, self.out, self.shared, self.own, self.residual, self.scaled, self.inverse = (
            cuda.device_array(shape, np.float32) for _ in range(7)
        )
        self.none = uploaded(np.zeros(shape, np.float32))
        self.sums = cuda.device_array(BLOCKS, np.float64)
        self.total = np.empty(BLOCKS)

    def weigh(self, near, steady, together, inverse):
        """See steps.Session."""
        self.weights = near, uploaded(steady), uploaded(together)
        self.inverse.copy_to_device(np.ascontiguousarray(inverse))
        self.direction.copy_to_device(self.x)
        self.residual.copy_to_device(self.values)
        self.x.copy_to_device(self.none)

    def image(self):
        """See steps.Session."""
        between = self.seen, self.gaps, self.lags
        kernels.differ[BLOCKS, THREADS](self.direction, *between, *self.weights, self.shared, self.own)
        kernels.spread[BLOCKS, THREADS](self.shared, self.own, *self.edges, self.direction, self.out, self.sums)
        return self.sum()

    def advance(self, length):
        """See steps.Session."""
        flat = [part.ravel() for part in (self.direction, self.out, self.inverse, self.x, self.residual, self.scaled)]
        kernels.advance[BLOCKS, THREADS](np.float32(length), *flat, self.sums)
        return self.sum()

    def redirect(self, share):
        """See steps.Session."""
        kernels.redirect[BLOCKS, THREADS](np.float32(share), self.scaled.ravel(), self.direction.ravel())

    def answer(self):
        """See steps.Session."""
        return self.x.copy_to_host()

    def sum(self):
        """The sum of the blocks' sums."""
        self.sums.copy_to_host(self.total)
        return float(self.total.sum())


def uploaded(array):
    """An array on the device."""
    return cuda.to_device(np.ascontiguousarray(array))
