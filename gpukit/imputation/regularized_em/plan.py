"""Sizes of regularized EM."""

ROUNDS, STILL = 30, 3e-4  # at most; until what is filled in moves less, in deviations of a vertex
RIDGES = (1e-6, 1e-4, 1e-3, 1e-2, 1e-1)  # of a vertex's variance
FEWEST = 4  # columns
MOST_WORK = 1 << 26  # of a round
MARGIN = 0.25  # of a vertex's range, beyond which nothing is filled in
