"""Kernels of the local regression against their CPU twins; small inputs for the simulator."""

import numpy as np
import pytest
from support import launch_repeatably

pytestmark = pytest.mark.kernel

from gpukit.imputation.local import formulas, kernels, regression, twins
from imputation.local import inputs


@pytest.mark.parametrize("near, blocks", [(0, 1), (3, 2)])
def test_describe(near, blocks):
    predictors, seen = inputs.predictors(near=near)
    vertex, column = inputs.places(seen)
    out = [np.full((len(vertex), formulas.features(near)), np.nan, np.float32) for _ in range(2)]
    base = [np.full(len(vertex), np.nan, np.float32) for _ in range(2)]
    twins.describe(*predictors, vertex, column, out[0], base[0])
    launch_repeatably(kernels.describe, blocks, 32, *predictors, vertex, column, out[1], base[1])
    np.testing.assert_allclose(out[1], out[0], atol=2e-6)
    np.testing.assert_allclose(base[1], base[0], atol=2e-6)


@pytest.mark.parametrize(
    "counts, size, long", [([5, 0, 140], 3, 50), ([9], 1, 9), ([60], formulas.SIDE, 64), ([33, 1], 7, 32)]
)
def test_pieces_of_a_regression(counts, size, long, monkeypatch):
    monkeypatch.setattr(regression, "PIECE", long)
    features, targets, first, start, pull, group = inputs.groups(counts, size)
    owner, begin, end, of_group = pieces = regression.pieces_of(first)
    count, beta = len(owner), start[group]
    rest, sizes = np.full((2, len(targets)), np.nan), np.full((2, count), np.nan)
    sums, weights = np.zeros((2, count, size + 1, size + 1)), np.full((2, count), np.nan)
    out = np.full((2, len(counts), size), np.nan)
    twins.remainders(features, targets, *pieces[:3], beta, rest[0], sizes[0])
    given = features, targets, *pieces[:3], beta, rest[1], sizes[1]
    launch_repeatably(kernels.remainders, count, formulas.THREADS, *given)
    np.testing.assert_allclose(rest[1], rest[0], rtol=1e-9)
    np.testing.assert_allclose(sizes[1], sizes[0], rtol=1e-9)
    for absolute in (False, True):
        twins.gather(features, targets, *pieces, rest[0], sizes[0], absolute, sums[0], weights[0])
        given = features, targets, *pieces, rest[0], sizes[0], absolute, sums[1], weights[1]
        launch_repeatably(kernels.gather, count, formulas.THREADS, *given)
        sums[:, :, size, size] = 0.0  # unused
        np.testing.assert_allclose(sums[1], sums[0], rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(weights[1], weights[0], rtol=1e-9)
    twins.solve(sums[0], weights[0], begin, end, of_group, start, pull, group, out[0])
    given = sums[0], weights[0], begin, end, of_group, start, pull, group, out[1]
    launch_repeatably(kernels.solve, len(counts), formulas.THREADS, *given)
    np.testing.assert_allclose(out[1], out[0], rtol=1e-6, atol=1e-7)


def test_place():
    source, rows = np.arange(12, dtype=np.float32).reshape(4, 3), np.array([3, 0, 2])
    places, out = np.array([1, 4, 0]), np.zeros((2, 5, 3), np.float32)
    twins.place(source, rows, places, out[0])
    launch_repeatably(kernels.place, 1, 32, source, rows, places, out[1])
    assert (out[1] == out[0]).all() and (out[0][places] == source[rows]).all()


@pytest.mark.parametrize("count", [1, 33])
def test_answer(count):
    features, targets, _, start, *_ = inputs.groups([count], 5)
    group, out = (np.arange(count) % 2).astype(np.int32), np.full((2, count), np.nan)
    twins.answer(features, targets, group, start, out[0])
    launch_repeatably(kernels.answer, 2, 32, features, targets, group, start, out[1])
    np.testing.assert_allclose(out[1], out[0], rtol=1e-6)
