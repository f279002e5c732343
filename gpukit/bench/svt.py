"""Benchmark of the singular-value thresholding."""

import importlib.util

import numpy as np

from gpukit.bench.measurement import Row, check_error, gpu_milliseconds, milliseconds, queued_milliseconds
from gpukit.bench.sorting import holder
from gpukit.svt import cpu, products
from gpukit.svt.products import ProductThresholding

SHAPES = {50: 4039, 64: 2100, 128: 2100, 512: 64}  # number of slices by rows and columns of each
KINDS = ("Gaussian", "nearly low-rank")


def make_slices(count, n, kind):
    """Return (X (N, n, n) float32, lam (N,)) of Gaussian slices, or of low-rank slices with noise."""
    rng, rank, share = np.random.default_rng(0), 5, 0.05  # of low-rank slices; of the largest singular value
    X = rng.normal(size=(count, n, n)).astype(np.float32)
    if kind == "nearly low-rank":
        X *= np.float32(1e-3)
        X += (rng.normal(size=(count, n, rank)) @ rng.normal(size=(count, rank, n))).astype(np.float32)
    largest = np.linalg.norm(X[:4], 2, axis=(1, 2)).mean()
    return X, np.full(count, share * largest, np.float32)


def lapack_result(X, lam):
    """Return LAPACK's result in float64."""
    U, S, V = np.linalg.svd(X.astype(np.float64), full_matrices=False)
    return (U * np.maximum(S - lam[:, None], 0)[:, None, :]) @ V


def check(X, lam, out):
    """Return the largest relative error of four slices; raise DataError above 1e-5."""
    chosen = np.linspace(0, len(X) - 1, min(4, len(X)), dtype=int)
    right = lapack_result(X[chosen], lam[chosen])
    error = float((np.linalg.norm(out[chosen] - right, axis=(1, 2)) / np.linalg.norm(right, axis=(1, 2))).max())
    check_error("slices", error, 1e-5)
    return error


def twin_samples(X, lam):
    """Return (milliseconds, result) of the CPU twins."""
    out = np.empty_like(X)
    return milliseconds(lambda: cpu.threshold(X, lam, out), 5), out


def kernel_samples(X, lam):
    """Return (milliseconds, result) of the kernels, for arrays on a GPU."""
    from gpukit._cuda import cuda
    from gpukit.svt import gpu

    out = cuda.device_array(X.shape, X.dtype)
    thresholding = gpu.Thresholding(cuda.to_device(X), cuda.to_device(lam), out)
    return queued_milliseconds(thresholding.run, 21, holder()), out.copy_to_host()


def product_samples(X, lam):
    """Return (milliseconds, result) of matrix products alone, for arrays on a GPU."""
    import cupy

    device_X, bounds = cupy.asarray(X), cupy.asarray(lam)
    thresholding = ProductThresholding(device_X, bounds, cupy.empty_like(device_X), on_gpu=True)
    return gpu_milliseconds(thresholding.run, 7, 2), thresholding.out.get()


def numpy_samples(X, lam):
    """Return [milliseconds] of a loop over numpy.linalg.svd."""

    def loop():
        for matrix, bound in zip(X, lam):
            U, S, V = np.linalg.svd(matrix, full_matrices=False)
            (U * np.maximum(S - bound, 0)) @ V

    return milliseconds(loop, 3)


def torch_samples(X, lam, driver, device):
    """Return [milliseconds] of torch.linalg.svd by a cuSOLVER driver; [nan] if it fails."""
    import torch

    device_X, bounds = (torch.from_numpy(array).to(f"cuda:{device.index}") for array in (X, lam))

    def threshold():
        U, S, V = torch.linalg.svd(device_X, full_matrices=False, driver=driver)
        return (U * (S - bounds[:, None]).clamp(min=0)[:, None, :]) @ V

    try:
        return gpu_milliseconds(threshold, 3)
    except torch.linalg.LinAlgError:
        return [np.nan]


def rivals(X, lam, device):
    """Yield (name, milliseconds) of other packages on the device."""
    if not device.is_cuda:
        yield "the loop over numpy.linalg.svd", numpy_samples(X, lam)
    elif importlib.util.find_spec("torch") is not None:
        for driver in ("gesvda", "gesvdj"):
            yield f"torch.linalg.svd {driver}", torch_samples(X, lam, driver, device)


def method_rows(X, lam, device):
    """Yield (what, milliseconds, note) of our methods."""
    both_methods = 100  # sides above which both kernels and products are timed on a GPU
    default = twin_samples if not device.is_cuda else product_samples if products.pays(X.shape) else kernel_samples
    methods = {"": default}
    if device.is_cuda and X.shape[1] > both_methods:
        methods |= {" by kernels": kernel_samples, " by products": product_samples}
    for name, method in methods.items():
        samples, out = method(X, lam)
        yield f"singular-value thresholding{name}", samples, f"error {check(X, lam, out):.0e}"


def thresholding(conditions):
    """Threshold all slices of the papers' shapes in one call, compared with other packages."""
    for n, count in SHAPES.items():
        count = max(1, round(conditions.scale * count))
        shape = f"{n} x {n} x {count}"
        for kind in KINDS:
            X, lam = make_slices(count, n, kind)
            for what, samples, note in method_rows(X, lam, conditions.device):
                yield Row(f"{what}, {kind}", shape, "generated", samples, "ms", note)
            for name, samples in rivals(X, lam, conditions.device):
                note = "LinAlgError: did not converge" if np.isnan(samples).any() else ""
                yield Row(f"{name}, {kind}", shape, "generated", samples, "ms", note)
