"""Position of the minor rows in GPU memory: of several candidates the one with the fastest additions.

gpu.py                 candidates and choice
kernels.py, twins.py   additions of zero, for timing

Every rating adds to its minor row, and a few popular rows have a large share of all ratings. Their distribution over
the parts of the L2 cache sets an epoch's time (docs/factorization.md, "What falls short"). It depends on the address of
the table by an unpublished rule. O(SAMPLE F) per candidate.
"""
