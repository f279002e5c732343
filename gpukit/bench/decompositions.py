"""Benchmark of the imputation paper's SVD variants: one by one, batched, ours."""

import importlib.util

import numpy as np

from gpukit.bench.checks import check_near, to_host
from gpukit.bench.imputation import (
    DECAY,
    ITERATIONS,
    LADDERS,
    PAPER_OPTIONS,
    fitted_session,
    make_case,
    make_session,
    release,
)
from gpukit.bench.record import Row
from gpukit.bench.svt import expected, select_slices, torch_samples
from gpukit.bench.timing import gpu_milliseconds, milliseconds
from gpukit.svt import cpu

OURS, HALF = "gpukit", ITERATIONS // 2
ONE_BY_ONE = 100  # slices that are measured one by one
SAME, APPROXIMATE = 1e-4, 1e-2  # relative: thresholding in float32, by an approximate decomposition


def ladder(conditions):
    """Time a thresholding pass and an iteration of each variant."""
    for name in conditions.select(LADDERS):
        case = make_case(name, conditions)
        samples, Z, lam = step_halfway(case)
        transform = transform_milliseconds(case, Z)
        for variant, times, note in passes(Z, lam, case.device):
            yield Row(f"a thresholding pass, {variant}", case.name, case.data, times, "ms", note)
            if variant != OURS:
                note = f"that, and the whole transform both ways, {transform:.3g} ms{case.paper}"
                times = [transform + sample for sample in times]
                yield Row(f"an iteration, {variant}", case.name, case.data, times, "ms", note)
        note = f"transform of the missing part, thresholding, back; step {HALF + 1} of {ITERATIONS}"
        yield Row(f"an iteration, {OURS}", case.name, case.data, samples, "ms", note)
        release(conditions.device)


def step_halfway(case):
    """Return (milliseconds of a step halfway down the path, its slices (N, m, n), their thresholds (N,))."""
    session = fitted_session(case, PAPER_OPTIONS._replace(iterations=HALF))
    lam = DECAY**HALF * make_session(case).largest()
    completed = session.completed()
    Z = (case.basis.vectors.T.astype(np.float32) @ completed.reshape(len(completed), -1)).reshape(completed.shape)
    samples = milliseconds(lambda: session.step(lam), 7 if case.device.is_cuda else 3)
    return samples, Z, lam.astype(np.float32)


def library(device):
    """Return (numpy or cupy, its name, the function that times on the device)."""
    if not device.is_cuda:
        return np, "numpy.linalg.svd", milliseconds
    import cupy

    return cupy, "cupy.linalg.svd", gpu_milliseconds


def transform_milliseconds(case, Z):
    """Return the median milliseconds of the transform U' G and back, U Z."""
    xp, _, clock = library(case.device)
    vectors, flat = xp.asarray(case.basis.vectors.astype(np.float32)), xp.asarray(Z.reshape(len(Z), -1))
    return float(np.median(clock(lambda: vectors @ (vectors.T @ flat), 5)))


def passes(Z, lam, device):
    """Yield (name, milliseconds, note) of each variant on the slices Z (N, m, n), after checks."""
    yield "one SVD after another", *one_by_one(Z, lam, device)
    if device.is_cuda and importlib.util.find_spec("torch") is not None:
        yield "batched SVD", *batched_by_torch(Z, lam, device)
    else:
        yield "batched SVD", *batched(Z, lam, device)
    yield OURS, *ours(Z, lam, device)


def check_slices(Z, lam, result, bound):
    """Raise DataError unless a few thresholded slices are LAPACK's."""
    chosen = select_slices(result)
    check_near("slices", result[chosen], expected(Z[chosen], lam[chosen]), bound)


def threshold_factors(xp, factors, lam):
    """Return U (S - lam)+ V of one matrix or of many."""
    U, S, V = factors
    return (U * xp.maximum(S - lam[..., None], 0)[..., None, :]) @ V


def one_by_one(Z, lam, device):
    """Return (milliseconds, note) of some slices one by one, as in the paper's baseline."""
    xp, name, clock = library(device)
    count = min(ONE_BY_ONE, len(Z))
    slices, bounds = xp.asarray(Z[:count]), xp.asarray(lam[:count])
    out = xp.empty_like(slices)

    def loop():
        for k in range(count):
            out[k] = threshold_factors(xp, xp.linalg.svd(slices[k], full_matrices=False), bounds[k])

    samples = [len(Z) / count * sample for sample in clock(loop, 3)]
    check_slices(Z, lam, to_host(out), SAME)
    return samples, f"{name}, {count} slices measured, times {len(Z) / count:g}"


def batched(Z, lam, device):
    """Return (milliseconds, note) of the library's decomposition of all slices in one call."""
    xp, name, clock = library(device)
    slices, bounds, result = xp.asarray(Z), xp.asarray(lam), []

    def threshold():
        result[:] = [threshold_factors(xp, xp.linalg.svd(slices, full_matrices=False), bounds)]

    samples = clock(threshold, 3)
    check_slices(Z, lam, to_host(result[0]), SAME)
    return samples, f"{name} of all slices in one call"


def batched_by_torch(Z, lam, device):
    """Return (milliseconds, note) of torch's fastest batched driver that converges; gesvda is approximate."""
    failed = ""
    for driver in ("gesvda", "gesvdj"):
        samples, result = torch_samples(Z, lam, driver, device)
        if result is not None:
            break
        failed = f"; {driver} fails (LinAlgError: did not converge)"
    check_slices(Z, lam, result, APPROXIMATE)
    return samples, f"torch.linalg.svd {driver} of all slices in one call{failed}"


def ours(Z, lam, device):
    """Return (milliseconds, note) of gpukit.svt."""
    if device.is_cuda:
        from gpukit._cuda import cuda
        from gpukit.svt import gpu

        threshold = gpu.threshold
        slices, bounds, out = cuda.to_device(Z), cuda.to_device(lam), cuda.device_array(Z.shape, Z.dtype)
        clock, repeat = gpu_milliseconds, 21
    else:
        threshold = cpu.threshold
        slices, bounds, out, clock, repeat = Z, lam, np.empty_like(Z), milliseconds, 3
    samples = clock(lambda: threshold(slices, bounds, out), repeat)
    check_slices(Z, lam, to_host(out), SAME)
    return samples, "all slices, exact"
