"""Stochastic gradient descent: CUSGD++ and CULSH-MF.

formulas.py         Eq. (5)                          kernels.py, twins.py  one epoch
schedule.py         lengths of chunks                training.py           epochs, for either device

schedule.py also cuts rows into chunks and distributes these over the workers of an epoch without locks.

stream_training.py: epochs on a GPU that is too small for the ratings. Packed blocks of chunks travel from page-locked
host memory while another block is processed.

Position of the minor rows in GPU memory (factorization/gpu.py, allocate_table): of several candidates the one with the
fastest additions.
Every rating adds to its minor row, and a few popular rows have a large share of all ratings. Their distribution over
the parts of the L2 cache sets an epoch's time (docs/factorization.md, "How an epoch runs"). It depends on the address
of the table by an unpublished rule.
"""
