"""The kernels of the local regression against their twins; tiny, the simulator is slow."""

import numpy as np
import pytest
from support import launch_repeatably

pytestmark = pytest.mark.kernel

from gpukit.imputation.local import kernels, plan, twins
from imputation.local import inputs


@pytest.mark.parametrize("near, blocks", [(0, 1), (3, 2)])
def test_describe(near, blocks):
    ground, seen = inputs.ground(near=near)
    vertex, column = inputs.places(seen)
    out = [np.full((len(vertex), plan.features(near)), np.nan, np.float32) for _ in range(2)]
    base = [np.full(len(vertex), np.nan, np.float32) for _ in range(2)]
    twins.describe(*ground, vertex, column, out[0], base[0])
    launch_repeatably(kernels.describe, blocks, 32, *ground, vertex, column, out[1], base[1])
    np.testing.assert_allclose(out[1], out[0], atol=2e-6)
    np.testing.assert_allclose(base[1], base[0], atol=2e-6)


@pytest.mark.parametrize("rounds", [0, 2])
@pytest.mark.parametrize("counts, size", [([5, 0, 140], 3), ([9], 1), ([60], plan.SIDE)])
def test_regress(counts, size, rounds):
    features, targets, first, start, pull, group = inputs.groups(counts, size)
    out, weights = [np.full((len(counts), size), np.nan) for _ in range(2)], np.zeros(len(targets))
    given = features, targets, first, start, pull, group, rounds
    twins.regress(*given, out[0], weights)
    launch_repeatably(kernels.regress, len(counts), plan.THREADS, *given, out[1], weights)
    np.testing.assert_allclose(out[1], out[0], rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("count", [1, 33])
def test_answer(count):
    features, targets, _, start, *_ = inputs.groups([count], 5)
    group, out = (np.arange(count) % 2).astype(np.int32), np.full((2, count), np.nan)
    twins.answer(features, targets, group, start, out[0])
    launch_repeatably(kernels.answer, 2, 32, features, targets, group, start, out[1])
    np.testing.assert_allclose(out[1], out[0], rtol=1e-6)
