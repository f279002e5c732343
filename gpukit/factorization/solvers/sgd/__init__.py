"""Stochastic gradient descent: CUSGD++ and CULSH-MF.

formulas.py         Eq. (5)                          kernels.py, twins.py  one epoch
schedule.py         lengths of chunks                training.py           epochs, for either device

schedule.py also cuts rows into chunks and distributes these over the workers of an epoch without locks.

batch_kernels.py (with teams of warps), batch_twins.py, and batches in training.py: deterministic epochs in batches. The
major rows of a batch learn first, then its minor rows. Each row is processed by one worker, with
the other side fixed. A minor row learns a rating from the major row before that rating's own step. Otherwise both sides
would fit the same ratings twice, and the test error of MovieLens 1M would be 0.008 higher; with it, training is as
accurate as SGD. No number is changed by two workers, so the result does not depend on their order. Both sides' rows are
read once per rating, and a copy of the major row is written and read. Memory: 4 bytes per rating, and the copies of a
batch (about training.SEEN_BYTES at most).

stream_training.py: epochs on a GPU that is too small for the ratings. Packed blocks of chunks travel from page-locked
host memory while another block is processed.

Position of the minor rows in GPU memory (factorization/gpu.py, allocate_table): of several candidates the one with the
fastest additions.
Every rating adds to its minor row, and a few popular rows have a large share of all ratings. Their distribution over
the parts of the L2 cache sets an epoch's time (docs/factorization.md, "How an epoch runs"). It depends on the address
of the table by an unpublished rule.
"""
