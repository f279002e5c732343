"""The thresholding kernel against LAPACK and its twin; tiny, the simulator is slow."""

import numpy as np
import pytest

from svt import inputs, naive

pytestmark = [pytest.mark.kernel, pytest.mark.filterwarnings("ignore:.*encountered")]

from gpukit._cuda import cuda  # noqa: E402
from gpukit.svt import cpu, gpu  # noqa: E402
from gpukit.svt import plan as plans  # noqa: E402

CASES = {
    "tall": lambda rng: rng.normal(size=(1, 5, 4)),
    "wide": lambda rng: rng.normal(size=(1, 3, 9)),
    "square, a zero": lambda rng: rng.normal(size=(2, 8, 8)) * np.array([1, 0])[:, None, None],
    "deficient": lambda rng: inputs.low_rank(9, 7, 2, 0.0, rng)[None],
    "nearly low-rank": lambda rng: inputs.low_rank(10, 10, 2, 1e-3, rng)[None],
    "repeated": lambda rng: inputs.rotated(np.repeat([2.0, 1.0], 3), 6, 6, rng)[None],
    "33 x 7": lambda rng: rng.normal(size=(1, 33, 7)),
    "one number": lambda rng: rng.normal(size=(1, 1, 1)),
}
BOUND = {np.float32: 1e-5, np.float64: 1e-12}


def threshold(X, lam, whole):
    """(out, values, ranks, sweeps) of the kernel."""
    out = cuda.device_array(X.shape, X.dtype)
    results = gpu.threshold(cuda.to_device(X), cuda.to_device(lam), out, whole)
    return [array.copy_to_host() for array in (out, *results)]


def check(X, lam, whole):
    """The kernel's answer is LAPACK's, and its ranks and sweeps are the twin's."""
    out, values, ranks, sweeps = threshold(X, lam, whole)
    expected, S = (np.array(part) for part in zip(*naive.threshold(X, lam)))
    bound = BOUND[X.dtype.type]
    assert abs(out - expected).max() <= bound * S.max()
    if whole:
        assert abs(values - S).max() <= bound * S.max()
    _, twin_ranks, twin_sweeps = cpu.threshold(X, lam, np.empty_like(X), whole)
    np.testing.assert_array_equal(ranks, twin_ranks)
    assert abs(sweeps - twin_sweeps).max() <= 1


@pytest.mark.parametrize("dtype", BOUND)
@pytest.mark.parametrize("name", CASES)
def test_threshold_slices(name, dtype):
    X = np.ascontiguousarray(CASES[name](np.random.default_rng(2)), dtype)
    lam = (0.2 * np.array([S[0] for _, S in naive.threshold(X, 0)])).astype(dtype)
    check(X, lam, False)
    if dtype == np.float32:
        check(X, np.zeros_like(lam), True)


def test_vectors_in_global_memory(monkeypatch):
    monkeypatch.setattr(plans, "SHARED", 0)
    X = np.random.default_rng(4).normal(size=(2, 6, 9))
    check(X, np.full(2, 0.5), True)
