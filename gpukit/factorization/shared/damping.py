"""How much of what ranks have changed in their copies of a row is added: the sum, the mean, or between the two."""

import numpy as np

from gpukit.factorization.model.layout import major_first
from gpukit.factorization.solvers.sgd.rates import row_rates

CURVATURE = 0.2  # of a row's squared error, as a share of the mean |p|^2 of the factors that it meets; found by trial
SAMPLE = 1 << 16  # rows of the major side, by which the length of factors is told
MOST = 100  # epochs, from which on the rates are so small that what serves for the last of them serves for all


def paces(settings, walk, counts, ranks, meetings):
    """(epochs, rows) float32: CURVATURE g s of each row, for MOST epochs at most.

    counts: ratings of the users, of the items, of all ranks; meetings: in an epoch, or (rows,) those of each row. A
    row's s steps between two meetings, at a rate g, bring it 1 - exp(-x) of the way to where its own ratings pull it,
    x = CURVATURE g s |p|^2, |p|^2 the mean over the ratings of what the factors of the other side have by now: all
    ranks' steps, one after the other, would bring it 1 - exp(-R x) of the way to where all pull it. Where x is small
    the sum of all changes does that; where it is large only the mean does, and the sum would overshoot, from three
    ranks on without end. formulas.share_of is what lies between. In the first epoch, in which factors grow from next
    to nothing, changes are added up.
    """
    _, rows = major_first(walk, *counts)
    steps = rows / (ranks * meetings)
    found = [np.zeros(len(rows))]
    for epoch in range(1, min(settings.epochs, MOST)):
        rate = row_rates(settings.rates, settings.epoch_rates(epoch).factor, epoch * rows)
        found.append(CURVATURE * rate * steps)
    return np.array(found, np.float32)


def sample(parts, rank):
    """(counts (rows,) float32, every): of parts.Parts the ratings of a rank's users, 0 of others', of whom each
    `every`-th one tells how long factors are."""
    counts = np.where(parts.owner == rank, parts.counts[0], 0).astype(np.float32)
    return counts, max(1, len(counts) // SAMPLE)
