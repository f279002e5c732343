"""Thresholding of host arrays: on the CPU by cpu.py, on the GPU by gpu.py, with the same functions."""
