"""Weights between items on a GPU: cuBLAS and cuSOLVER, through cupy."""

import numpy as np

from gpukit.device import free_memory
from gpukit.factorization.constants import RULES

BLOCK = 1 << 28  # numbers of a dense block of users, in half precision


def solve_weights(X, ridge, device):
    """Return B (N, N) float32 on the host with a diagonal of 0; arguments as weights.solve_weights.

    None without cupy or the memory for it, and if single precision is not accurate.
    """
    copies = 4  # matrices of N x N float32 numbers that the solution needs at once
    n_items = X.shape[1]
    if 4 * copies * n_items**2 + 2 * BLOCK > free_memory(device):
        return None
    try:
        import cupy
        from cupyx import lapack
    except ImportError:
        return None
    with cupy.cuda.Device(device.index):
        gram = gram_of(X, cupy)
        gram.ravel()[:: n_items + 1] += np.float32(ridge)
        try:
            inverse = lapack.posv(gram, cupy.eye(n_items, dtype=np.float32))
        except np.linalg.LinAlgError:
            return None
        ones = cupy.ones(n_items, np.float32)
        error = float(cupy.linalg.norm(gram @ (inverse @ ones) - ones)) / n_items**0.5
        inverse /= -cupy.diag(inverse)
        cupy.fill_diagonal(inverse, 0)
        return cupy.ascontiguousarray(inverse).get() if error <= RULES.inverse_error else None


def gram_of(X, cupy):
    """Return X'X (N, N) float32 on the GPU.

    Blocks of rows are dense in half precision, and products are added in single precision: all numbers are exact up to
    2**24 users.
    """
    from cupy.cuda import cublas, device, runtime

    n_users, n_items = X.shape
    step, value = max(1, min(n_users, BLOCK // n_items)), np.ones(1, np.float32)
    gram, dense = cupy.zeros((n_items, n_items), np.float32), cupy.empty((step, n_items), np.float16)
    items = cupy.asarray(X.indices)
    half, single = (dense.data.ptr, runtime.CUDA_R_16F, n_items), (gram.data.ptr, runtime.CUDA_R_32F, n_items)
    transposed, rule = (cublas.CUBLAS_OP_N, cublas.CUBLAS_OP_T), (cublas.CUBLAS_COMPUTE_32F, cublas.CUBLAS_GEMM_DEFAULT)
    shape, scale = (n_items, n_items, step), value.ctypes.data
    for first in range(0, n_users, step):
        starts = X.indptr[first : first + step + 1]
        lines = cupy.asarray(np.repeat(np.arange(len(starts) - 1, dtype=np.int32), np.diff(starts)))
        dense.fill(0)
        dense[lines, items[starts[0] : starts[-1]]] = 1
        handle = device.get_cublas_handle()
        cublas.gemmEx(handle, *transposed, *shape, scale, *half, *half, scale, *single, *rule)
    return gram
