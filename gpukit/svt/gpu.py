"""Host step of the thresholding on the GPU; arrays stay there. cpu.py has the same function."""

import numpy as np

from gpukit._cuda import SIMULATED, cuda, with_shared_memory
from gpukit.svt import kernels
from gpukit.svt.plan import plan


def find_kernel(m, n, dtype, how):
    """The kernel of a Plan for slices of m x n numbers."""
    parts = -(-min(m, n) // 32)
    return kernels.make_threshold(dtype.type, how.lanes, how.count, how.threads, parts, how.shared > 0)


def threshold(X, lam, out, whole=False):
    """(values (N, min(m, n)) or (N, 0), ranks (N,) int32, sweeps (N,) int32) on the device; out is overwritten.

    X, out (N, m, n) float32 or float64 and lam (N,) of their type on the device; nothing is checked. whole: all
    singular values are wanted.
    """
    slices, m, n = X.shape
    capability = None if SIMULATED else tuple(cuda.get_current_device().compute_capability)
    how = plan(m, n, X.dtype, capability)
    values = cuda.device_array((slices, min(m, n) if whole else 0), X.dtype)
    ranks, sweeps = cuda.device_array(slices, np.int32), cuda.device_array(slices, np.int32)
    workspace = cuda.device_array((1, 1) if how.shared else (slices, min(m, n) * how.pitch), X.dtype)
    launch = with_shared_memory(find_kernel(m, n, np.dtype(X.dtype), how), slices, how.threads, how.shared)
    launch(X, lam, out, values, ranks, sweeps, workspace)
    return values, ranks, sweeps


def memory_needed(shape, dtype):
    """Bytes on the device for X, out and what `threshold` allocates."""
    slices, m, n = shape
    vectors = min(m, n)
    workspace = 0 if plan(m, n, dtype).shared else vectors * plan(m, n, dtype).pitch
    return slices * (2 * m * n + workspace + vectors) * np.dtype(dtype).itemsize
