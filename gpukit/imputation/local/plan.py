"""Sizes of the local regression."""

OWN = 6  # features of a vertex's own: two and three values before and after the gap, its ends, and a constant
EACH = 4  # features of another series
MOST = 8  # series that are looked at, of other vertices; two more are the vertex's own: of low rank, a period away
SIDE = OWN + EACH * (MOST + 2)  # features at most
THREADS = 128
FEWEST, FOLDS = 2, 8  # of hidden values that are learned from
WINDOW = 1 << 19  # numbers of a problem that is learned from
RIDGE = 100.0  # values that a coefficient's start is worth, of kinds
RIDGES = (30.0, 100.0, 300.0, 1000.0, 5000.0)  # of vertices, of which the best is taken
EQUAL = 1.001  # times the least error: among ridges that near the largest is taken
ENOUGH = 200  # values of a kind, to tell its ridge from
ROUNDS, FEW = 5, 2  # of reweighting; where ridges are compared
PIECE = 1024  # values whose sums are taken by one block
PIECES = 4096  # whose sums are in memory at a time
TILE = 32  # values that a block has before it
CELL = 4  # by as many: sums that a thread has
ROW = SIDE + 1 + CELL  # numbers of a value in a tile: features, target, and what a thread's sums may reach beyond
PASSES = 2
LEAST = 0.1  # of the mean |residual|: smaller ones weigh no more
POOL = 20_000  # values that coefficients of all vertices are learned from
OF_VERTEX = 1_000  # of one kind and vertex
TOGETHER = 1 << 19  # values whose features are in memory at a time


def features(series):
    """Return the number of features with a number of other series."""
    return OWN + EACH * series
