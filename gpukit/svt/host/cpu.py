"""Thresholding of host arrays on the CPU; gpu.py has the same functions."""

import numpy as np

from gpukit.svt import cpu, lapack


def threshold(X, lam, whole):
    """Return (out, values or None, ranks) of host arrays: see svt.cpu.threshold."""
    out = np.empty_like(X)
    solver = lapack if lapack.pays(X.shape, X.dtype) else cpu
    values, ranks = solver.threshold(X, lam, out, whole)
    return out, values if whole else None, ranks


def memory_needed(shape, dtype, whole):
    """Return bytes of device memory: none."""
    return 0
