"""How much of what ranks have changed in their copies of a row is added: the sum, the mean, or between the two."""

import numpy as np

from gpukit.factorization.model.layout import major_first
from gpukit.factorization.solvers.sgd.rates import row_rates

CURVATURE = 0.2  # of a row's squared error, as a share of the mean |p|^2 of the factors that it meets; found by trial
SAMPLE = 1 << 16  # rows of the major side, by which the length of factors is told
MOST = 100  # epochs, from which on the rates are so small that what serves for the last of them serves for all
QUARTERS = 4  # of the first epoch, in which factors grow and rates fall


def paces(settings, walk, counts, ranks, first, meetings):
    """(turns, rows) float32: CURVATURE g s of each row, in each of the first epoch's QUARTERS and in each of the
    following epochs, up to MOST.

    counts: ratings of the users, of the items, of all ranks; first, meetings: so many in the first epoch, in a later
    one, or (rows,) those of each row. A row's s steps between two meetings, at a rate g, bring it 1 - exp(-x) of the
    way to where its own ratings pull it, x = CURVATURE g s |p|^2, |p|^2 the mean over the ratings of what the factors
    of the other side have by now: all ranks' steps, one after the other, would bring it 1 - exp(-R x) of the way to
    where all pull it. Where x is small the sum of all changes does that; where it is large only the mean does, and the
    sum would overshoot, from three ranks on without end. formulas.share_of is what lies between.
    """
    _, rows = major_first(walk, *counts)
    seen = [(0, (quarter + 0.5) / QUARTERS, first) for quarter in range(QUARTERS)]
    seen += [(epoch, epoch, meetings) for epoch in range(1, min(settings.epochs, MOST))]
    found = []
    for epoch, times, often in seen:
        rate = row_rates(settings.rates, settings.epoch_rates(epoch).factor, times * rows)
        found.append(CURVATURE * rate * rows / (ranks * often))
    return np.array(found, np.float32)


def turn_of(epoch, quarter, count):
    """Which of so many turns of `paces` serves for a quarter of an epoch, or for all of it."""
    return min(epoch + QUARTERS - 1 if epoch else quarter, count - 1)


def sample(parts, rank):
    """(counts (rows,) float32, every): of parts.Parts the ratings of a rank's users, 0 of others', of whom each
    `every`-th one tells how long factors are."""
    counts = np.where(parts.owner == rank, parts.counts[0], 0).astype(np.float32)
    return counts, max(1, len(counts) // SAMPLE)
