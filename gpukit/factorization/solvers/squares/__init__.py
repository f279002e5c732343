"""Least squares of many rows at once: normal equations and their solution, for als and ials.

plan.py        tiles, pieces, batches                        kernels/, twins/  Gram matrices and their solution
cpu.py, gpu.py equations of a batch of rows                  formulas.py       the problem; pivots
arrays.py      input of the equations                        host.py           equations of a few rows in float64

Cost: nnz F^2 / 2 multiplications, and F^3 / 6 per row. Deterministic: yes, for any number of threads.
"""
