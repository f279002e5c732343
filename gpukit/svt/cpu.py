"""Host step of the thresholding on the CPU; gpu.py has the same function."""

import numpy as np

from gpukit.svt import twins


def threshold(X, lam, out, whole=False):
    """(values (N, min(m, n)) or (N, 0), ranks (N,) int32, sweeps (N,) int32); out is overwritten.

    X, out (N, m, n) float32 or float64, C-contiguous, and lam (N,) of their type; nothing is checked. whole: all
    singular values are wanted.
    """
    slices, m, n = X.shape
    values = np.empty((slices, min(m, n) if whole else 0), X.dtype)
    ranks, sweeps = np.empty(slices, np.int32), np.empty(slices, np.int32)
    twins.threshold_slices(X, lam, out, values, ranks, sweeps)
    return values, ranks, sweeps
