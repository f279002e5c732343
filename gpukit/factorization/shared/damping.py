"""Weights of the ranks' changes to copied rows: between their mean and their sum."""

import numpy as np

from gpukit.factorization.model.layout import major_first
from gpukit.factorization.solvers.rates import row_rates

CURVATURE = 0.2  # of a row's squared error, as a share of the mean |p|^2 of the other side's factors; found by trial
SAMPLE = 1 << 16  # rows of the major side that estimate the length of factors
MOST = 100  # epochs with own paces; later rates are so small that the last paces serve for all
QUARTERS = 4  # of the first epoch, in which factors grow and rates fall


def paces(settings, walk, counts, ranks, first, exchanges):
    """Return CURVATURE g s of each row, (turns, rows) float32.

    The turns are the QUARTERS of the first epoch, then each later epoch up to MOST.

    counts: ratings of users, of items, of all ranks; first, exchanges: exchanges in the first epoch, in a later one, or
    (rows,) those of each row. Between two exchanges a row takes s steps at rate g. They bring it the fraction 1 -
    exp(-x) of the distance to the optimum of its own ratings, x = CURVATURE g s |p|^2, with |p|^2 the mean over the
    ratings of the other side's factors. The steps of R ranks in sequence would bring it the fraction 1 - exp(-R x) of
    the distance to the optimum of all ratings. The sum of all changes does so for small x. For large x only the mean
    does: the sum would overshoot, and diverge from three ranks on. change_weight of solvers/sgd/formulas.py is
    between both.
    """
    _, rows = major_first(walk, *counts)
    turns = [(0, (quarter + 0.5) / QUARTERS, first) for quarter in range(QUARTERS)]
    turns += [(epoch, epoch, exchanges) for epoch in range(1, min(settings.epochs, MOST))]
    result = []
    for epoch, passes, count in turns:
        rate = row_rates(settings.rates, settings.epoch_rates(epoch).factor, passes * rows)
        result.append(CURVATURE * rate * rows / (ranks * count))
    return np.array(result, np.float32)


def pace_index(epoch, quarter, count):
    """Return the turn of `paces` for a quarter of the first epoch or for a later epoch."""
    return min(epoch + QUARTERS - 1 if epoch else quarter, count - 1)


def sample_rows(parts, rank):
    """Return (counts (rows,) float32, every): ratings of a rank's users, 0 for others, and the step of the sample.

    The factors of each `every`-th row determine their mean length.
    """
    counts = np.where(parts.owner == rank, parts.counts[0], 0).astype(np.float32)
    return counts, max(1, len(counts) // SAMPLE)
