"""How much of what ranks have changed in their copies of a row is added: the sum, the mean, or between the two."""

import numpy as np

from gpukit.factorization.model.layout import major_first
from gpukit.factorization.solvers.sgd.rates import row_rates

CURVATURE = 0.1  # of a row's squared error in its factors' directions, in z; found in generated ratings
MOST = 100  # epochs, from which on the rates are so small that what serves for the last of them serves for all


def shares(settings, walk, counts, ranks, meetings):
    """(epochs, rows) float32: what to multiply the sum of R ranks' changes to a row by, for MOST epochs at most.

    counts: ratings of the users, of the items, of all ranks; meetings: in an epoch, or (rows,) those of each row. A
    row's s steps between two meetings, at a rate g, bring it 1 - exp(-x) of the way to where its own ratings pull it,
    x = g s CURVATURE: all ranks' steps, one after the other, would bring it 1 - exp(-R x) of the way to where all pull
    it. Where x is small the sum does that; where it is large only the mean does, and the sum would overshoot, from
    three ranks on without end. In the first epoch factors are small, and so is the curvature: changes are added up.
    """
    _, rows = major_first(walk, *counts)
    steps = rows / (ranks * meetings)
    shares = [np.ones(len(rows))]
    for epoch in range(1, min(settings.epochs, MOST)):
        rate = row_rates(settings.rates, settings.epoch_rates(epoch).factor, epoch * rows)
        x = np.maximum(rate * steps * CURVATURE, 1e-6)
        shares.append(np.expm1(-ranks * x) / (ranks * np.expm1(-x)))
    return np.array(shares, np.float32)
