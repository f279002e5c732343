"""Kernels of the imputation against their CPU twins and numpy.

Inputs are small for the simulator.
"""

import numpy as np
import pytest
from support import launch_repeatably

pytestmark = pytest.mark.kernel

from gpukit.imputation.spectral import kernels, twins

RNG = np.random.default_rng(5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("blocks", [1, 3])
def test_extrapolate(dtype, blocks):
    now, before = RNG.normal(size=(2, 300)).astype(dtype)
    now.flags.writeable = False
    expected, own = before.copy(), before.copy()
    twins.extrapolate(now, expected, dtype(0.4))
    launch_repeatably(kernels.extrapolate, blocks, kernels.THREADS, now, own, dtype(0.4))
    np.testing.assert_allclose(own, expected, rtol=1e-6)
    np.testing.assert_allclose(expected, 1.4 * now - 0.4 * before, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("shape, first, columns", [((1, 7), 0, 7), ((4, 9), 3, 5), ((3, 400), 0, 400), ((3, 2), 1, 1)])
@pytest.mark.parametrize("some", [False, True])
@pytest.mark.parametrize("blocks", [1, 2])
def test_renew(shape, first, columns, some, blocks):
    new = RNG.normal(size=(shape[0], columns)).astype(np.float32)
    now, before = RNG.normal(size=(2, *shape)).astype(np.float32)
    hidden = RNG.random(shape) < 0.5 if some else np.ones((1, 1), bool)
    part = np.s_[:, first : first + columns]
    value = np.where(hidden[part], new, 0) if some else new
    expected_now, expected_before = now.copy(), before.copy()
    expected_now[part], expected_before[part] = value, now[part]
    wide, old = value.astype(np.float64), now[part].astype(np.float64)
    totals = ((wide - old) ** 2).sum(), (wide**2).sum()
    for run in (lambda *a: launch_repeatably(kernels.renew, blocks, kernels.THREADS, *a), twins.renew):
        own_now, own_before, sums = now.copy(), before.copy(), np.full((blocks, 2), np.nan)
        run(new, hidden, first, own_now, own_before, sums)
        np.testing.assert_array_equal(own_now, expected_now)
        np.testing.assert_array_equal(own_before, expected_before)
        np.testing.assert_allclose(sums.sum(axis=0), totals, rtol=1e-6)  # differences are of float32
