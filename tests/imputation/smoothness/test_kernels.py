"""Kernels of smoothness against their CPU twins; small inputs for the simulator."""

import numpy as np
import pytest
from support import launch_repeatably

pytestmark = pytest.mark.kernel

from gpukit.imputation.smoothness import kernels, twins
from imputation.smoothness import inputs

B, C = np.array([0.3, 0.02], np.float32), np.array([0.5, 0.1], np.float32)


@pytest.mark.parametrize("vertices, columns, lags, blocks", [(5, 17, (1, 4), 2), (3, 2, (1,), 1), (2, 1, (1,), 1)])
def test_differ(vertices, columns, lags, blocks):
    observed = inputs.observed(vertices, columns, lags)[0]
    x = np.random.default_rng(1).normal(size=(vertices, columns)).astype(np.float32)
    given = x, observed.seen, observed.gaps, observed.lags, np.float32(0.2), B[: len(lags)], C[: len(lags)]
    out = [[np.full_like(x, np.nan) for _ in range(2)] for _ in range(2)]
    twins.differ(*given, *out[0])
    launch_repeatably(kernels.differ, blocks, 32, *given, *out[1])
    np.testing.assert_allclose(out[1], out[0], atol=2e-6)


@pytest.mark.parametrize("vertices, columns, blocks", [(5, 67, 2), (3, 1, 3)])
def test_spread(vertices, columns, blocks):
    observed = inputs.observed(vertices, columns, (1,))[0]
    rng = np.random.default_rng(2)
    shared, own, direction = (rng.normal(size=(vertices, columns)).astype(np.float32) for _ in range(3))
    edges = observed.edges
    images, sums = [np.full_like(own, np.nan) for _ in range(2)], [np.full(blocks, np.nan) for _ in range(2)]
    twins.spread(shared, own, *edges, direction, images[0], sums[0])
    launch_repeatably(kernels.spread, blocks, kernels.THREADS, shared, own, *edges, direction, images[1], sums[1])
    np.testing.assert_allclose(images[1], images[0], atol=2e-6)
    np.testing.assert_allclose(sums[1].sum(), sums[0].sum(), atol=1e-4)


@pytest.mark.parametrize("count, blocks", [(1, 1), (33, 2), (700, 2)])
def test_advance(count, blocks):
    rng = np.random.default_rng(count)
    direction, image, inverse, x, residual = rng.normal(size=(5, count)).astype(np.float32)
    out = []
    for run in (twins.advance, lambda *a: launch_repeatably(kernels.advance, blocks, kernels.THREADS, *a)):
        changed, sums = [x.copy(), residual.copy(), np.full_like(x, np.nan)], np.full(blocks, np.nan)
        run(np.float32(0.3), direction, image, inverse, *changed, sums)
        out.append([*changed, [sums.sum()]])
    for mine, other in zip(*out):
        np.testing.assert_allclose(mine, other, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("share", [0.0, 0.7])
def test_redirect(share):
    scaled, direction = np.random.default_rng(0).normal(size=(2, 70)).astype(np.float32)
    out = [direction.copy(), direction.copy()]
    twins.redirect(np.float32(share), scaled, out[0])
    launch_repeatably(kernels.redirect, 2, 32, np.float32(share), scaled, out[1])
    np.testing.assert_allclose(out[1], out[0], rtol=1e-6)
