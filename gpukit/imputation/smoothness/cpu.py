"""Smoothness on the CPU; gpu.py has the same interface."""

import numpy as np

from gpukit.imputation.smoothness import twins
from gpukit.imputation.smoothness.plan import BLOCKS


class Session:
    """See steps.Session."""

    def __init__(self, ground, start):
        self.ground, self.x = ground, np.array(start, np.float32)
        self.direction, self.out, self.shared, self.own, self.residual, self.scaled = (
            np.zeros_like(self.x) for _ in range(6)
        )
        self.sums = np.zeros(min(BLOCKS, len(self.x)))

    def weigh(self, near, steady, together, inverse):
        """See steps.Session."""
        self.weights, self.inverse = (near, steady, together), inverse
        self.direction[...], self.residual[...] = self.x, self.ground.values
        self.x[...] = 0.0

    def image(self):
        """See steps.Session."""
        ground = self.ground
        between = ground.seen, ground.gaps, ground.lags
        twins.differ(self.direction, *between, *self.weights, self.shared, self.own)
        edges = ground.first, ground.neighbors, ground.weights
        twins.spread(self.shared, self.own, *edges, self.direction, self.out, self.sums)
        return float(self.sums.sum())

    def advance(self, length):
        """See steps.Session."""
        flat = [part.ravel() for part in (self.direction, self.out, self.inverse, self.x, self.residual, self.scaled)]
        twins.advance(np.float32(length), *flat, self.sums)
        return float(self.sums.sum())

    def redirect(self, share):
        """See steps.Session."""
        twins.redirect(np.float32(share), self.scaled.ravel(), self.direction.ravel())

    def answer(self):
        """See steps.Session."""
        return self.x.copy()
