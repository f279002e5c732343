"""Sizes of the local regression."""

OWN = 6  # features of a vertex's own: two and three values before and after the gap, its ends, a constant
EACH = 4  # features of another series
MOST = 8  # series of other vertices; two more are the vertex's own: of low rank, a period away
SIDE = OWN + EACH * (MOST + 2)  # largest number of features
THREADS = 128
FEWEST, FOLDS = 2, 8  # of hidden values for learning
WINDOW = 1 << 19  # numbers of a problem for learning
RIDGE = 100.0  # weight of a kind's start, in values
RIDGES = (30.0, 100.0, 300.0, 1000.0, 5000.0)  # weights of a vertex's start, in values
EQUAL = 1.001  # times the least error: the largest ridge below it is selected
ENOUGH = 200  # values of a kind to select its ridge
ROUNDS, FEW = 5, 2  # of reweighting; of reweighting in the selection of ridges
PIECE = 1024  # values summed by one block
PIECES = 4096  # whose sums are in memory at once
TILE = 32  # values of a block's tile
CELL = 4  # squared: sums of a thread
ROW = SIDE + 1 + CELL  # numbers of a value in a tile: features, target, padding for the last thread
PASSES = 2
LEAST = 0.1  # of the mean |residual|: lower bound of residuals in weights
POOL = 20_000  # values for coefficients of all vertices
OF_VERTEX = 1_000  # of one kind and vertex
TOGETHER = 1 << 19  # values whose features are in memory at once


def features(series):
    """Return the number of features with a number of other series."""
    return OWN + EACH * series
