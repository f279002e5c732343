"""Sizes of soft-impute, and its thresholds."""

SHARES = (0.1, 0.03, 0.3)  # thresholds relative to the largest singular value of the observed values
STEPS = 25
CHANGE = 1e-2  # relative change of the estimate at which it stops
MOST_WORK = 1 << 37  # of additions
WHOLE = 512  # largest number of rows with all singular values; otherwise only the largest, from the last step
SMALL = 1 << 20  # numbers of a matrix with at most WHOLE rows that the CPU processes
TURNS = 4  # of the first search for the largest singular values
SPARE = 10  # additional singular vectors
THREADS = 256
BLOCKS = 264  # of sums
