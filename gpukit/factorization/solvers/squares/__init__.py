"""Least squares of many rows at once: normal equations and their solution, for als and ials.

plan.py        tiles, pieces, batches                        kernels/, twins/  Gram matrices and their solution
cpu.py, gpu.py a batch of rows' equations                    formulas.py       the problem; pivots
arrays.py      what rows are solved from                      host.py           a few rows' equations in float64

Cost: nnz F^2 / 2 multiplications and F^3 / 6 a row. Deterministic: yes, for any number of threads.
"""
