"""Benchmarks of the singular-value thresholding. Each is a function of Conditions that yields record.Rows."""

import importlib.util

import numpy as np

from gpukit.bench.record import Row
from gpukit.bench.sorting import holder
from gpukit.bench.timing import gpu_milliseconds, milliseconds, queued_milliseconds
from gpukit.errors import DataError
from gpukit.svt import products
from gpukit.svt.products import ProductThresholding

SHAPES = ((4039, 50), (2100, 64), (2100, 128), (64, 512))  # slices, their rows and columns
KINDS = ("Gaussian", "nearly low-rank")
RANK, NOISE = 5, 1e-3  # of nearly low-rank slices
SHARE = 0.05  # of a slice's largest singular value: lam
CHECKED = 4  # slices
BOUND = 1e-5
BOTH_WAYS = 100  # sides above which both kernels and products are timed on a GPU


def slices(count, n, kind):
    """(X (N, n, n) float32, lam (N,)): Gaussian slices, or slices of a low rank with noise."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(count, n, n)).astype(np.float32)
    if kind == "nearly low-rank":
        X *= np.float32(NOISE)
        X += (rng.normal(size=(count, n, RANK)) @ rng.normal(size=(count, RANK, n))).astype(np.float32)
    largest = np.linalg.norm(X[:CHECKED], 2, axis=(1, 2)).mean()
    return X, np.full(count, SHARE * largest, np.float32)


def expected(X, lam):
    """LAPACK's answer in float64."""
    U, S, V = np.linalg.svd(X.astype(np.float64), full_matrices=False)
    return (U * np.maximum(S - lam[:, None], 0)[:, None, :]) @ V


def check(X, lam, out):
    """The largest error of some slices, relative to LAPACK's; DataError above BOUND."""
    some = np.linspace(0, len(X) - 1, min(CHECKED, len(X)), dtype=int)
    right = expected(X[some], lam[some])
    error = float((np.linalg.norm(out[some] - right, axis=(1, 2)) / np.linalg.norm(right, axis=(1, 2))).max())
    if not error <= BOUND:
        raise DataError(f"the benchmark's slices are off by {error:.1e}, more than {BOUND:g}.")
    return error


def our_samples(X, lam, device):
    """(milliseconds of thresholdings of arrays on their device, the error), the way singular_value_threshold takes."""
    if device.is_cuda:
        return product_samples(X, lam) if products.pays(X.shape) else kernel_samples(X, lam)
    from gpukit.svt import cpu

    out = np.empty_like(X)
    samples = milliseconds(lambda: cpu.threshold(X, lam, out), 5)
    return samples, check(X, lam, out)


def kernel_samples(X, lam):
    """(milliseconds by the kernels, of arrays on a GPU, the error)."""
    from gpukit._cuda import cuda
    from gpukit.svt import gpu

    out = cuda.device_array(X.shape, X.dtype)
    work = gpu.Thresholding(cuda.to_device(X), cuda.to_device(lam), out)
    samples = queued_milliseconds(work.run, 21, holder())
    return samples, check(X, lam, out.copy_to_host())


def product_samples(X, lam):
    """(milliseconds by matrix products alone, of arrays on a GPU, the error)."""
    import cupy

    there, bounds = cupy.asarray(X), cupy.asarray(lam)
    work = ProductThresholding(there, bounds, cupy.empty_like(there), on_gpu=True)
    samples = gpu_milliseconds(work.run, 7, 2)
    return samples, check(X, lam, work.out.get())


def numpy_samples(X, lam):
    """Milliseconds of the loop over numpy.linalg.svd."""

    def loop():
        for matrix, bound in zip(X, lam):
            U, S, V = np.linalg.svd(matrix, full_matrices=False)
            (U * np.maximum(S - bound, 0)) @ V

    return milliseconds(loop, 3)


def torch_samples(X, lam, driver, device):
    """Milliseconds of torch.linalg.svd by one of cuSOLVER's drivers, and of the products; [nan] where it fails."""
    import torch

    there, bounds = (torch.from_numpy(array).to(f"cuda:{device.index}") for array in (X, lam))

    def once():
        U, S, V = torch.linalg.svd(there, full_matrices=False, driver=driver)
        return (U * (S - bounds[:, None]).clamp(min=0)[:, None, :]) @ V

    try:
        return gpu_milliseconds(once, 3, 1)
    except torch.linalg.LinAlgError:
        return [np.nan]


def rivals(X, lam, device):
    """(name, milliseconds) of what else there is on the device."""
    if not device.is_cuda:
        yield "the loop over numpy.linalg.svd", numpy_samples(X, lam)
    elif importlib.util.find_spec("torch") is not None:
        for driver in ("gesvda", "gesvdj"):
            yield f"torch.linalg.svd {driver}", torch_samples(X, lam, driver, device)


def thresholding(conditions):
    """Exact thresholding at the papers' shapes, all slices of a shape in one call, beside what else there is."""
    for count, n in SHAPES:
        count = max(1, round(conditions.scale * count))
        shape = f"{n} x {n} x {count}"
        for kind in KINDS:
            X, lam = slices(count, n, kind)
            samples, error = our_samples(X, lam, conditions.device)
            yield Row(f"singular-value thresholding, {kind}", shape, "generated", samples, "ms", f"error {error:.0e}")
            if conditions.device.is_cuda and n > BOTH_WAYS:
                for way, samples_of in (("kernels", kernel_samples), ("products", product_samples)):
                    samples, error = samples_of(X, lam)
                    yield Row(
                        f"singular-value thresholding by {way}, {kind}",
                        shape,
                        "generated",
                        samples,
                        "ms",
                        f"error {error:.0e}",
                    )
            for name, others in rivals(X, lam, conditions.device):
                failed = "LinAlgError: did not converge" if np.isnan(others).any() else ""
                yield Row(f"{name}, {kind}", shape, "generated", others, "ms", failed)


BENCHES = {"thresholding": thresholding}
