"""Smoothness on the CPU; gpu.py has the same interface."""

import numpy as np

from gpukit.imputation.smoothness import twins
from gpukit.imputation.smoothness.formulas import BLOCKS


class ConjugateGradients:
    """An Observed on a device with a solution x, initially start (N, T) float32."""

    def __init__(self, observed, start):
        self.observed, self.x = observed, np.array(start, np.float32)
        self.direction, self.out, self.shared, self.own, self.residual, self.scaled = (
            np.zeros_like(self.x) for _ in range(6)
        )
        self.sums = np.zeros(min(BLOCKS, len(self.x)))

    def set_weights(self, near, steady, together, inverse):
        """Set the weights: near float32, steady and together (K,) float32.

        inverse (N, T) float32: 1 over the resulting diagonal. The direction becomes the solution, the residual the
        values, x zero: a step of length 1 then gives the solution's residual.
        """
        self.weights, self.inverse = (near, steady, together), inverse
        self.direction[...], self.residual[...] = self.x, self.observed.values
        self.x[...] = 0.0

    def multiply(self):
        """Compute the direction's product; return direction . product."""
        observed = self.observed
        between = observed.seen, observed.gaps, observed.lags
        twins.differ(self.direction, *between, *self.weights, self.shared, self.own)
        edges = observed.first, observed.neighbors, observed.weights
        twins.spread(self.shared, self.own, *edges, self.direction, self.out, self.sums)
        return float(self.sums.sum())

    def advance(self, length):
        """Run a step of a length; return residual . scaled residual."""
        flat = [part.ravel() for part in (self.direction, self.out, self.inverse, self.x, self.residual, self.scaled)]
        twins.advance(np.float32(length), *flat, self.sums)
        return float(self.sums.sum())

    def redirect(self, share):
        """Compute the next direction: the scaled residual plus a share of the last one."""
        twins.redirect(np.float32(share), self.scaled.ravel(), self.direction.ravel())

    def solution(self):
        """Return (N, T) float32 on the host."""
        return self.x.copy()
