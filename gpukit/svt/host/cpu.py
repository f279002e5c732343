"""Host arrays thresholded on the CPU; gpu.py has the same functions."""

import numpy as np

from gpukit.svt import cpu, lapack


def threshold(X, lam, whole):
    """(out, values or None, ranks) of host arrays: see svt.cpu.threshold."""
    out = np.empty_like(X)
    way = lapack if lapack.pays(X.shape, X.dtype) else cpu
    values, ranks = way.threshold(X, lam, out, whole)
    return out, values if whole else None, ranks


def memory_needed(shape, dtype, whole):
    """Bytes of a device's own memory: none."""
    return 0
