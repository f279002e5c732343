"""Host arrays thresholded on the GPU and brought back; cpu.py has the same functions."""

from gpukit._cuda import cuda
from gpukit.device.upload import upload
from gpukit.svt import gpu, products


def threshold(X, lam, whole):
    """(out, values or None, ranks) of host arrays: see svt.gpu.threshold."""
    return _by_products(X, lam) if _products_pay(X.shape, whole) else _by_kernels(X, lam, whole)


def memory_needed(shape, dtype, whole):
    """Bytes on the device for the arrays and what is allocated besides."""
    return (products if _products_pay(shape, whole) else gpu).memory_needed(shape, dtype)


def _products_pay(shape, whole):
    """Whether matrix products are the faster way; they find no singular values."""
    return not whole and products.pays(shape)


def _by_products(X, lam):
    import cupy

    there = cupy.empty(X.shape, X.dtype)
    upload(X, cuda.as_cuda_array(there, sync=False))
    ranks = products.ProductThresholding(there, cupy.asarray(lam), there, on_gpu=True).run()
    return there.get(), None, ranks


def _by_kernels(X, lam, whole):
    there, out = (cuda.device_array(X.shape, X.dtype) for _ in range(2))
    upload(X, there)
    values, ranks = gpu.threshold(there, cuda.to_device(lam), out, whole)
    return out.copy_to_host(), values.copy_to_host() if whole else None, ranks
