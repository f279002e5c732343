"""Thresholding of host arrays on the GPU; cpu.py has the same functions."""

from gpukit._cuda import cuda
from gpukit.device.upload import upload
from gpukit.svt import gpu, products


def threshold(X, lam, whole):
    """Return (out, values or None, ranks) of host arrays: see svt.gpu.threshold."""
    return _by_products(X, lam) if _products_pay(X.shape, whole) else _by_kernels(X, lam, whole)


def memory_needed(shape, dtype, whole):
    """Return device bytes for the arrays and buffers."""
    return (products if _products_pay(shape, whole) else gpu).memory_needed(shape, dtype)


def _products_pay(shape, whole):
    """Return True if matrix products are faster; they compute no singular values."""
    return not whole and products.pays(shape)


def _by_products(X, lam):
    import cupy

    device_X = cupy.empty(X.shape, X.dtype)
    upload(X, cuda.as_cuda_array(device_X, sync=False))
    ranks = products.ProductThresholding(device_X, cupy.asarray(lam), device_X, on_gpu=True).run()
    return device_X.get(), None, ranks


def _by_kernels(X, lam, whole):
    device_X, out = (cuda.device_array(X.shape, X.dtype) for _ in range(2))
    upload(X, device_X)
    values, ranks = gpu.threshold(device_X, cuda.to_device(lam), out, whole)
    return out.copy_to_host(), values.copy_to_host() if whole else None, ranks
