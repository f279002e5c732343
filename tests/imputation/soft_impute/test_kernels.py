"""Kernels of soft-impute against their CPU twins; small inputs for the simulator."""

import numpy as np
import pytest
from support import launch_repeatably

pytestmark = pytest.mark.kernel

from gpukit.imputation.soft_impute import kernels, twins


@pytest.mark.parametrize("count, blocks", [(1, 1), (33, 2), (700, 2)])
def test_compare(count, blocks):
    given = np.random.default_rng(count).normal(size=(3, count)).astype(np.float32)
    sums = [np.full((blocks, 3), np.nan) for _ in range(2)]
    twins.compare(*given, sums[0])
    launch_repeatably(kernels.compare, blocks, kernels.THREADS, *given, sums[1])
    estimate, before, ahead = given.astype(float)
    change = estimate - before
    expected = [(ahead - estimate) @ change, change @ change, estimate @ estimate]
    for one in sums:
        np.testing.assert_allclose(one.sum(axis=0), expected, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("momentum", [0.0, 0.7])
def test_proceed(momentum):
    rng = np.random.default_rng(3)
    estimate, before, known = rng.normal(size=(3, 70)).astype(np.float32)
    given, out = (
        (estimate, before, known, rng.random(70) > 0.5, np.float32(momentum)),
        [np.full_like(known, np.nan)] * 2,
    )
    out = [one.copy() for one in out]
    twins.proceed(*given, out[0])
    launch_repeatably(kernels.proceed, 2, 32, *given, out[1])
    expected = np.where(given[3], known, estimate + momentum * (estimate - before))
    for one in out:
        np.testing.assert_allclose(one, expected, atol=1e-6)
