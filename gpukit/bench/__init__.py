"""Benchmarks: each checks its answer, warms up, times, and makes a row of docs/benchmarks.csv.

record.py    a row, the machine and versions it was measured with, the file
timing.py    samples of a GPU or CPU step
ratings.py   CUSGD++, CULSH-MF, simLSH and the paper's own way, on the papers' shapes (generated) and MovieLens 1M
(real) kernels.py   the ladder: kernels as the papers describe them      twins.py   their CPU twins

    gpukit bench [NAME ...] [--device cuda] [--output docs/benchmarks.csv]
"""
