"""Benchmarks of the segmented sort."""

import functools
import importlib.util

import numpy as np

from gpukit.bench import shape_name
from gpukit.bench.measurement import Row, arrays_of, milliseconds, queued_milliseconds, to_host
from gpukit.device.engine import engine
from gpukit.documents.synth import SHAPES
from gpukit.errors import DataError

LENGTHS = tuple(1 << power for power in range(4, 14))
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


@functools.cache
def holder():
    """Return a function that keeps the GPU busy for about 10 ms: one segment, sorted by one block."""
    from gpukit._cuda import cuda
    from gpukit.sorting import gpu

    count = 300_000
    keys = cuda.to_device(np.random.default_rng(2).normal(size=count).astype(np.float32))
    plan, order = gpu.plan([0, count], np.float32), cuda.device_array(count, np.int32)
    return lambda: gpu.argsort(keys, plan, order)


def time_step(step, device, repeat, repeat_on_cpu):
    """Return [milliseconds] of a step; on a GPU without launches."""
    return queued_milliseconds(step, repeat, holder()) if device.is_cuda else milliseconds(step, repeat_on_cpu)


def sort_samples(keys, offsets, device):
    """Return [milliseconds] of sorts of arrays on their device, after a check."""
    sorts, arrays = engine(device, "gpukit.sorting"), arrays_of(device)
    device_keys, order = arrays.resident(keys, keys.dtype), arrays.empty(keys.size, np.int32)
    sort = functools.partial(sorts.argsort, device_keys, sorts.plan(offsets, keys.dtype), order)
    sort()
    check(keys, offsets, to_host(order))
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
    return queued_milliseconds(lambda: torch.sort(packed), 21, holder())


def rows(shape, offsets, device):
    """Yield the rows of float32 and float64 keys, and of torch."""
    note = f"{offsets[-1] / 1e6:.2f} million keys in {len(offsets) - 1} segments"
    for dtype in (np.float32, np.float64):
        keys = np.random.default_rng(1).normal(size=offsets[-1]).astype(dtype)
        yield Row(f"segmented sort {keys.dtype}", shape, "generated", sort_samples(keys, offsets, device), "ms", note)
        if dtype == np.float32 and (samples := torch_samples(keys, offsets, device)):
            yield Row("torch.sort float32 packed in 64 bits", shape, "generated", samples, "ms", note)


def sorting(conditions):
    """Sort the queries of MSLR-WEB30K's shape."""
    yield from rows(shape_name("mslr-web30k", conditions.scale), web30k_offsets(conditions.scale), conditions.device)


def lengths(conditions):
    """Sort four million keys in segments of equal length."""
    keys = 1 << 22
    for length in LENGTHS:
        count = max(1, round(conditions.scale * keys / length))
        offsets = np.arange(count + 1, dtype=np.int64) * length
        yield from rows(f"length {length}", offsets, conditions.device)


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
