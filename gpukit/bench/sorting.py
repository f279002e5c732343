"""Benchmarks of the segmented sort and of the singular-value thresholding."""

import functools
import importlib.util

import numpy as np

from gpukit.base.arrays import ensure_host
from gpukit.bench import shape_name
from gpukit.bench.measurement import (
    Row,
    arrays_of,
    check_error,
    gpu_milliseconds,
    milliseconds,
    time_step,
)
from gpukit.device.engine import engine
from gpukit.documents.synth import SHAPES
from gpukit.errors import DataError
from gpukit.svt import cpu, products
from gpukit.svt.products import ProductThresholding

ORDERS = {  # random float64 keys (n,) in the order of each kind
    "random": lambda keys: keys,
    "sorted": np.sort,
    "reversed": lambda keys: np.sort(keys)[::-1],
    "reversed, with ties": lambda keys: np.sort(np.round(50 * keys))[::-1],
    "five levels": lambda keys: np.clip(np.round(keys), -2, 2) / 3,
    "sorted but the least last": lambda keys: np.roll(np.sort(keys), -1),
    "sorted but 1 % anywhere": lambda keys: np.where(np.abs(keys) > 2.576, keys, np.sort(keys)),
    "rising, then falling": lambda keys: np.r_[np.sort(keys[::2]), np.sort(keys[1::2])[::-1]],
    "saw-tooth": lambda keys: np.arange(len(keys)) % 100.0,
}


def web30k_offsets(scale):
    """Return offsets (m + 1,) int64 of log-normal segments with WEB30K's number, mean and longest length."""
    shape, spread = SHAPES["mslr-web30k"], 0.655  # of log lengths: the longest is then about that of the shape
    rng = np.random.default_rng(0)
    sizes = np.exp(rng.normal(0, spread, max(1, round(scale * shape.queries))))
    sizes = np.clip(np.rint(sizes * (shape.documents / shape.queries / sizes.mean())), 1, shape.longest)
    sizes[rng.integers(len(sizes))] = shape.longest
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def check(keys, offsets, order):
    """Raise DataError unless 200 segments are in numpy's stable order."""
    for segment in np.linspace(0, len(offsets) - 2, min(200, len(offsets) - 1), dtype=int):
        part = slice(offsets[segment], offsets[segment + 1])
        if not np.array_equal(order[part], np.argsort(keys[part], kind="stable")):
            raise DataError(f"the benchmark's segment {segment} was not sorted right.")


def sort_samples(keys, offsets, device):
    """Return [milliseconds] of sorts of arrays on their device, after a check."""
    sorts, arrays = engine(device, "gpukit.sorting"), arrays_of(device)
    device_keys, order = arrays.resident(keys, keys.dtype), arrays.empty(keys.size, np.int32)
    sort = functools.partial(sorts.argsort, device_keys, sorts.plan(offsets, keys.dtype), order)
    sort()
    check(keys, offsets, ensure_host(order))
    return time_step(sort, device, 51, 9)


def torch_samples(keys, offsets, device):
    """Return [milliseconds] of torch.sort of float32 keys packed with their segments into int64; [] without torch."""
    if not device.is_cuda or importlib.util.find_spec("torch") is None:
        return []
    import torch

    pattern = keys.view(np.int32).astype(np.int64)
    pattern = np.where(pattern < 0, ~pattern & 0xFFFFFFFF, pattern | 0x80000000)
    packed = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets)) << 32 | pattern
    packed = torch.from_numpy(packed).to(f"cuda:{device.index}")
    return gpu_milliseconds(lambda: torch.sort(packed), 21)


def sorting(conditions):
    """Sort float32 and float64 keys in the queries of MSLR-WEB30K's shape."""
    offsets, shape = web30k_offsets(conditions.scale), shape_name("mslr-web30k", conditions.scale)
    note = f"{offsets[-1] / 1e6:.2f} million keys in {len(offsets) - 1} segments"
    for dtype in (np.float32, np.float64):
        keys = np.random.default_rng(1).normal(size=offsets[-1]).astype(dtype)
        samples = sort_samples(keys, offsets, conditions.device)
        yield Row(f"segmented sort {keys.dtype}", shape, "generated", samples, "ms", note)
        if dtype == np.float32 and (samples := torch_samples(keys, offsets, conditions.device)):
            yield Row("torch.sort float32 packed in 64 bits", shape, "generated", samples, "ms", note)


def orders(conditions):
    """Compare the CPU's sort of keys in several orders with numpy's stable argsort of each segment."""
    if conditions.device.is_cuda:
        return
    for length in (16, 1 << 10, 1 << 14, 1 << 17, 1 << 20):
        offsets = np.arange(max(1, round(conditions.scale * (1 << 20) / length)) + 1, dtype=np.int64) * length
        normal = np.random.default_rng(1).normal(size=offsets[-1])
        for name, arrange in ORDERS.items():
            segments = [arrange(part) for part in np.split(normal, offsets[1:-1])]
            loop = milliseconds(lambda: [np.argsort(part, kind="stable") for part in segments], 9)  # noqa: B023
            ratios = np.median(loop) / sort_samples(np.concatenate(segments), offsets, conditions.device)
            note = f"{offsets[-1] / 1e6:.2f} million float64 keys in {len(offsets) - 1} segments"
            what = f"segmented sort, numpy's loop against it: {name}"
            yield Row(what, f"length {length}", "generated", ratios, "times", note)


SLICES = {50: 4039, 64: 2100, 128: 2100, 512: 64}  # number of slices by rows and columns of each
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


def check_slices(X, lam, out):
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
    return gpu_milliseconds(thresholding.run, 21), out.copy_to_host()


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


def svd_samples(X, lam, driver, device):
    """Return [milliseconds] of torch.linalg.svd by a cuSOLVER driver; [nan] if it fails."""
    import torch

    device_X, bounds = (torch.from_numpy(array).to(f"cuda:{device.index}") for array in (X, lam))

    def threshold():
        U, S, V = torch.linalg.svd(device_X, full_matrices=False, driver=driver)
        return (U * (S - bounds[:, None]).clamp(min=0)[:, None, :]) @ V

    try:
        return gpu_milliseconds(threshold, 3, warm_up=1)
    except torch.linalg.LinAlgError:
        return [np.nan]


def rivals(X, lam, device):
    """Yield (name, milliseconds) of other packages on the device."""
    if not device.is_cuda:
        yield "the loop over numpy.linalg.svd", numpy_samples(X, lam)
    elif importlib.util.find_spec("torch") is not None:
        for driver in ("gesvda", "gesvdj"):
            yield f"torch.linalg.svd {driver}", svd_samples(X, lam, driver, device)


def method_rows(X, lam, device):
    """Yield (what, milliseconds, note) of our methods."""
    both_methods = 100  # sides above which both kernels and products are timed on a GPU
    default = twin_samples if not device.is_cuda else product_samples if products.pays(X.shape) else kernel_samples
    methods = {"": default}
    if device.is_cuda and X.shape[1] > both_methods:
        methods |= {" by kernels": kernel_samples, " by products": product_samples}
    for name, method in methods.items():
        samples, out = method(X, lam)
        yield f"singular-value thresholding{name}", samples, f"error {check_slices(X, lam, out):.0e}"


def thresholding(conditions):
    """Threshold all slices of the papers' shapes in one call, compared with other packages."""
    for n, count in SLICES.items():
        count = max(1, round(conditions.scale * count))
        shape = f"{n} x {n} x {count}"
        for kind in KINDS:
            X, lam = make_slices(count, n, kind)
            for what, samples, note in method_rows(X, lam, conditions.device):
                yield Row(f"{what}, {kind}", shape, "generated", samples, "ms", note)
            for name, samples in rivals(X, lam, conditions.device):
                note = "LinAlgError: did not converge" if np.isnan(samples).any() else ""
                yield Row(f"{name}, {kind}", shape, "generated", samples, "ms", note)
