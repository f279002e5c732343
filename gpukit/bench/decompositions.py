"""Benchmark of the graph-tensor imputation paper's ladder: what it calls baseline, batched, ours."""

import importlib.util

import numpy as np

from gpukit.bench.imputation import DECAY, ITERATIONS, LADDERS, PAPERS_OWN, case, prepared, relative, release, walked
from gpukit.bench.record import Row
from gpukit.bench.svt import expected
from gpukit.bench.timing import gpu_milliseconds, milliseconds
from gpukit.errors import DataError
from gpukit.svt import cpu

OURS, HALF = "gpukit", ITERATIONS // 2
ONE_BY_ONE = 100  # slices decomposed one after another that are measured
SAME, APPROXIMATE = 1e-4, 1e-2  # relative: slices thresholded in float32, by an approximate decomposition


def ladder(conditions):
    """The paper's ladder: one decomposition after another, batched, ours; a thresholding pass and an iteration."""
    for like in conditions.among(LADDERS):
        one = case(like, conditions)
        samples, Z, lam = halfway(one)
        transform = transform_milliseconds(one, Z)
        for name, own, note in passes(Z, lam, one.device):
            yield Row(f"a thresholding pass, {name}", one.name, one.data, own, "ms", note)
            if name != OURS:
                yield Row(
                    f"an iteration, {name}",
                    one.name,
                    one.data,
                    [transform + sample for sample in own],
                    "ms",
                    f"that, and the whole transform both ways, {transform:.3g} ms{one.paper}",
                )
        yield Row(
            f"an iteration, {OURS}",
            one.name,
            one.data,
            samples,
            "ms",
            f"transform of what is missing, thresholding, back; step {HALF + 1} of {ITERATIONS}",
        )
        release(conditions.device)


def halfway(one):
    """([milliseconds] of a step halfway down the path, its slices (N, m, n), their thresholds (N,))."""
    session = walked(one, PAPERS_OWN._replace(iterations=HALF))
    lam = DECAY**HALF * prepared(one).largest()
    completed = session.completed()
    Z = (one.basis.vectors.T.astype(np.float32) @ completed.reshape(len(completed), -1)).reshape(completed.shape)
    samples = milliseconds(lambda: session.step(lam), 7 if one.device.is_cuda else 3)
    return samples, Z, lam.astype(np.float32)


def library(device):
    """(numpy or cupy, its name, the function that times on its device)."""
    if not device.is_cuda:
        return np, "numpy.linalg.svd", milliseconds
    import cupy

    return cupy, "cupy.linalg.svd", gpu_milliseconds


def transform_milliseconds(one, Z):
    """Milliseconds of U' G and U Z, the whole of both."""
    xp, _, clock = library(one.device)
    vectors, flat = xp.asarray(one.basis.vectors.astype(np.float32)), xp.asarray(Z.reshape(len(Z), -1))
    return float(np.median(clock(lambda: vectors @ (vectors.T @ flat), 5)))


def passes(Z, lam, device):
    """(name, milliseconds, note) of every way to threshold the slices of Z (N, m, n), each checked."""
    yield "one SVD after another", *one_by_one(Z, lam, device)
    if device.is_cuda and importlib.util.find_spec("torch") is not None:
        yield "batched SVD", *batched_by_torch(Z, lam, device)
    else:
        yield "batched SVD", *batched(Z, lam, device)
    yield OURS, *ours(Z, lam, device)


def check_slices(Z, lam, found, bound):
    """Raise DataError unless a few thresholded slices are LAPACK's."""
    some = np.linspace(0, len(found) - 1, min(4, len(found)), dtype=int)
    error = relative(found[some], expected(Z[some], lam[some]))
    if not error <= bound:
        raise DataError(f"the benchmark's slices are off by {error:.1e}, more than {bound:g}.")


def formed(xp, factors, lam):
    """U (S - lam)+ V of one matrix or of many."""
    U, S, V = factors
    return (U * xp.maximum(S - lam[..., None], 0)[..., None, :]) @ V


def one_by_one(Z, lam, device):
    """(milliseconds, note) of one decomposition after another, as the paper's baseline, of some slices."""
    xp, name, clock = library(device)
    count = min(ONE_BY_ONE, len(Z))
    there, bounds = xp.asarray(Z[:count]), xp.asarray(lam[:count])
    out = xp.empty_like(there)

    def loop():
        for k in range(count):
            out[k] = formed(xp, xp.linalg.svd(there[k], full_matrices=False), bounds[k])

    samples = [len(Z) / count * sample for sample in clock(loop, 3)]
    check_slices(Z, lam, on_host(out), SAME)
    return samples, f"{name}, {count} slices measured, times {len(Z) / count:g}"


def batched(Z, lam, device):
    """(milliseconds, note) of the library's decomposition of all slices in one call."""
    xp, name, clock = library(device)
    there, bounds, kept = xp.asarray(Z), xp.asarray(lam), []

    def once():
        kept[:] = [formed(xp, xp.linalg.svd(there, full_matrices=False), bounds)]

    samples = clock(once, 3)
    check_slices(Z, lam, on_host(kept[0]), SAME)
    return samples, f"{name} of all slices in one call"


def batched_by_torch(Z, lam, device):
    """(milliseconds, note) of torch's fastest batched driver that does not fail; gesvda is approximate."""
    import torch

    there, bounds = (torch.from_numpy(array).to(f"cuda:{device.index}") for array in (Z, lam))
    kept, failed = [], ""

    def once():
        U, S, V = torch.linalg.svd(there, full_matrices=False, driver=driver)
        kept[:] = [(U * (S - bounds[:, None]).clamp(min=0)[:, None, :]) @ V]

    for driver in ("gesvda", "gesvdj"):
        try:
            samples = gpu_milliseconds(once, 3)
        except torch.linalg.LinAlgError:
            failed = f"; {driver} fails (LinAlgError: did not converge)"
        else:
            break
    check_slices(Z, lam, kept[0].cpu().numpy(), APPROXIMATE)
    return samples, f"torch.linalg.svd {driver} of all slices in one call{failed}"


def ours(Z, lam, device):
    """(milliseconds, note) of gpukit.svt."""
    if device.is_cuda:
        from gpukit._cuda import cuda
        from gpukit.svt import gpu

        threshold = gpu.threshold
        there, bounds, out = cuda.to_device(Z), cuda.to_device(lam), cuda.device_array(Z.shape, Z.dtype)
        clock, repeat = gpu_milliseconds, 21
    else:
        threshold = cpu.threshold
        there, bounds, out, clock, repeat = Z, lam, np.empty_like(Z), milliseconds, 3
    samples = clock(lambda: threshold(there, bounds, out), repeat)
    check_slices(Z, lam, on_host(out), SAME)
    return samples, "all slices, exact"


def on_host(array):
    """An array of any library, on the host."""
    for method in ("copy_to_host", "get"):
        if hasattr(array, method):
            return getattr(array, method)()
    return array


BENCHES = {"impute-ladder": ladder}
