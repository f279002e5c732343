"""Sizes of soft-impute, and its thresholds."""

SHARES = (0.1, 0.03, 0.3)  # thresholds, of the largest singular value of what is observed
STEPS = 25
CHANGE = 1e-2  # of the estimate, at which it stops
MOST_WORK = 1 << 37  # of additions
WHOLE = 512  # rows up to which all singular values are found; of more the largest, from those of the step before
SMALL = 1 << 20  # numbers of a matrix with no more rows than that, which the CPU takes
TURNS = 4  # of the first search for the largest
SPARE = 10  # singular vectors beyond those that are kept
THREADS = 256
BLOCKS = 264  # of sums
