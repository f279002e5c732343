"""How much of what ranks have changed in their copies of a row is added: the sum, the mean, or between the two."""

import numpy as np

from gpukit.factorization.model.layout import major_first
from gpukit.factorization.solvers.sgd.rates import row_rates

CURVATURE = 0.1  # of a row's squared error in its factors' directions, in z; found in generated ratings


class Damping:
    """For settings.Settings and R ranks; counts: ratings of the users, of the items, of all ranks; order: that of the
    rows, else as they are numbered.

    A row's s steps between two meetings, at a rate g, bring it 1 - exp(-x) of the way to where its own ratings pull it,
    x = g s CURVATURE: all ranks' steps, one after the other, would bring it 1 - exp(-R x) of the way to where all pull
    it. Where x is small the sum does that; where it is large only the mean does, and the sum would overshoot, from
    three ranks on without end. In the first epoch factors are small, and so is the curvature: changes are added up.
    """

    def __init__(self, settings, walk, counts, ranks, order=slice(None)):
        self.settings, self.ranks, self.rows = settings, ranks, major_first(walk, *counts)[1][order]

    def shares(self, epoch, meetings):
        """(rows,) float32: what to multiply the sum of ranks' changes to a row by, in epoch number `epoch`, in which
        ranks meet so often, a number or one a row."""
        if epoch == 0:
            return np.ones(len(self.rows), np.float32)
        rate = row_rates(self.settings.rates, self.settings.epoch_rates(epoch).factor, epoch * self.rows)
        left = np.exp(np.float32(-CURVATURE * rate * self.rows / (self.ranks * meetings)))
        return sum(left**rank for rank in range(self.ranks)) / np.float32(self.ranks)
