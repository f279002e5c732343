"""Sizes and weights of smoothness over graph and time."""

from typing import NamedTuple

THREADS = 256
BLOCKS = 528  # of sums of products, equal on both devices
STEPS = 200  # at most
TOLERANCE, ROUGH = 2e-4, 7e-4  # of the scaled residual's length, relative to its start: final, in the search
WINDOW = 1 << 17  # numbers of the search
NUMBERS = 1 << 18  # of all folds of a search
FEW = 10.0  # weight of the usual change, in changes
WEEK = 7  # periods: a week of daily periods


class Weights(NamedTuple):
    """Weights of the objective.

    alike: the power of the ends' similarity in edge weights (graph.py), 0 or 1; near (a): on the graph; steady (b):
    from column to column; together (c): of changes; repeats: s of each further lag, (lags,).
    """

    alike: int
    near: float
    steady: float
    together: float
    repeats: tuple


POWERS = (0, 1)
# Starts (alike, a, b, c) of the search, for gaps and for unobserved vertices.
STARTS = tuple((alike, *law) for law in ((0.001, 0.03, 0.2), (0.1, 0.003, 0.1)) for alike in POWERS)
REPEATS = (0.1, 0.01)  # s before finer steps
FACTORS = (4.0, 2.0)  # of weights, for each round of the search
MOST_TRIALS = 40
WORTH = 0.999  # relative error that a step of the search must reach
