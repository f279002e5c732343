"""Sizes and weights of smoothness over graph and time."""

from typing import NamedTuple

THREADS = 256
BLOCKS = 528  # of sums of products: as many parts on either device
STEPS = 200  # at most
TOLERANCE, ROUGH = 2e-4, 7e-4  # of the scaled residual's length, of its start: what serves, and in the search
WINDOW = 1 << 17  # numbers that weights are searched on
NUMBERS = 1 << 18  # of all folds of a search together
FEW = 10.0  # changes that what is usual counts as
WEEK = 7  # periods; of a period that is a day it is a week


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
# alike, a, b, c where the search begins: values between observed ones, and vertices of which nothing is observed
STARTS = tuple((alike, *law) for law in ((0.001, 0.03, 0.2), (0.1, 0.003, 0.1)) for alike in POWERS)
REPEATS = (0.1, 0.01)  # s, what is tried before finer steps
FACTORS = (4.0, 2.0)  # of weights, a round of the search each
MOST_TRIALS = 40
WORTH = 0.999  # of the error, what a step of the search must be below
