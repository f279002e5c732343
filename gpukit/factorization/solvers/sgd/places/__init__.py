"""Where in the GPU's memory the minor side's rows begin: of some places the one where additions to them are quickest.

gpu.py                 the places, and which one
kernels.py, twins.py   additions that change nothing, to be timed

Every rating adds to its minor row, and a few popular rows have a good part of all ratings. How evenly these fall on the
parts of the L2 cache sets an epoch's time (docs/factorization.md, "What falls short"), and hangs on where the table
begins, by a rule that is not published. O(SAMPLE F) an attempt.
"""
