"""Least squares of many rows at once: normal equations and their solution, for als and ials.

plan.py                input; tiles, pieces, batches; equations of a batch of rows, of a few rows in float64
formulas.py            the problem; pivots
kernels.py, twins.py   normal equations: sums of products; elimination in registers

Gram matrices and elimination begin with the same step: products of a few columns in shared memory are added to a tile
in a thread's registers. Number 8 i + a of a column is at position a I + i there, with I tiles per side: the threads of
a warp, which have consecutive i and j, then read adjacent or equal positions.

Cost: nnz F^2 / 2 multiplications, and F^3 / 6 per row. Deterministic: yes, for any number of threads.
"""
