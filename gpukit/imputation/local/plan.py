"""Sizes of the local regression."""

OWN = 6  # features of a vertex's own: two and three values before and after the gap, its ends, and a constant
EACH = 4  # features of another series
MOST = 8  # series that are looked at, of other vertices; two more are the vertex's own: of low rank, a period away
SIDE = OWN + EACH * (MOST + 2)  # features at most
THREADS = 128
PIECE = 1024  # values whose sums are taken by one block
PIECES = 4096  # whose sums are in memory at a time
TILE = 32  # values that a block has before it
CELL = 4  # by as many: sums that a thread has
ROW = SIDE + 1 + CELL  # numbers of a value in a tile: features, target, and what a thread's sums may reach beyond
RIDGE = 100.0  # values that a coefficient's start is worth
ROUNDS = 5  # of reweighting
PASSES = 2
LEAST = 0.1  # of the mean |residual|: smaller ones weigh no more
POOL = 20_000  # values that coefficients of all vertices are learned from
OF_VERTEX = 1_000  # of one kind and vertex
TOGETHER = 1 << 19  # values whose features are in memory at a time


def features(series):
    """How many features there are with so many other series."""
    return OWN + EACH * series
