"""Grouping's kernels against their twins: exact."""

import numpy as np
import pytest
from support import launch

from gpukit.primitives.group import cpu, gpu, kernels, twins

pytestmark = pytest.mark.kernel


def made_keys(n, seed=0, bits=40):
    keys = np.random.default_rng(seed).integers(0, 1 << bits, n, dtype=np.uint64)
    keys[: n // 3] = keys[0]  # a digit of most records of a tile
    return keys


SHAPES = [(1, 1, 1), (33, 1, 1), (2048, 1, 1), (2049, 1, 2), (4100, 2, 2)]


@pytest.mark.parametrize("n, tiles, blocks", SHAPES)
@pytest.mark.parametrize("width", [1, 8])
def test_count_and_scan(n, tiles, blocks, width):
    keys, found, expected = made_keys(n), *(np.full((1 << width, blocks), -1, np.int64) for _ in range(2))
    launch(kernels.count_digits, blocks, kernels.THREADS, keys, 5, width, tiles, found)
    twins.count_digits(keys, 5, width, tiles, expected)
    assert np.array_equal(found, expected)


@pytest.mark.parametrize("blocks", [1, 255, 256, 257, 600])
def test_scan(blocks):
    counts = np.random.default_rng(1).integers(0, 1 << 33, (3, blocks))
    found, expected = counts.copy(), counts.copy()
    totals, true_totals = np.empty(3, np.int64), np.empty(3, np.int64)
    launch(kernels.scan_digits, 3, kernels.THREADS, found, totals)
    twins.scan_digits(expected, true_totals)
    assert np.array_equal(found, expected) and np.array_equal(totals, true_totals)


@pytest.mark.parametrize("n, tiles, blocks", SHAPES)
@pytest.mark.parametrize("width, paired", [(1, True), (6, False), (8, True)])
def test_scatter(n, tiles, blocks, width, paired):
    keys, payload = made_keys(n), np.arange(n if paired else 0, dtype=np.uint32)
    counts, totals = np.empty((1 << width, blocks), np.int64), np.empty(1 << width, np.int64)
    twins.count_digits(keys, 5, width, tiles, counts)
    twins.scan_digits(counts, totals)
    expected = np.zeros(n, np.uint64), np.zeros(len(payload), np.uint32)
    twins.scatter_digits(keys, payload, 5, width, tiles, counts, totals, *expected)
    found = np.zeros(n, np.uint64), np.zeros(max(1, len(payload)), np.uint32)
    scatter = kernels.make_scatter_digits(paired)
    given = payload if paired else np.zeros(1, np.uint32)
    launch(scatter, blocks, kernels.THREADS, keys, given, 5, width, tiles, counts, totals, *found)
    assert np.array_equal(found[0], expected[0])
    assert not paired or np.array_equal(found[1], expected[1])


@pytest.mark.parametrize("rows", [[0], [4], [0, 0, 2, 2, 2, 5], [1, 3]])
@pytest.mark.parametrize("grid, block", [(1, 32), (2, 33)])
def test_row_starts(rows, grid, block):
    keys = np.array(rows, np.uint64) << np.uint64(7) | np.uint64(5)
    found, expected = np.full(8, -1, np.int64), np.full(8, -1, np.int64)
    launch(kernels.row_starts, grid, block, keys, 7, 5, found)
    twins.row_starts(keys, 7, 5, expected)
    assert np.array_equal(found, expected)


@pytest.mark.parametrize("n", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 2500)), 300])
def test_the_whole_sort(n, monkeypatch):
    monkeypatch.setattr(gpu, "GRID", 3)
    monkeypatch.setattr(gpu, "BLOCK", 32)
    from gpukit._cuda import cuda

    keys, payload = made_keys(n) if n else np.empty(0, np.uint64), np.arange(n, dtype=np.uint32)
    expected = cpu.sort_by_bits(keys.copy(), 3, 14, payload.copy())
    if not n:
        return
    found = gpu.sort_by_bits(cuda.to_device(keys), 3, 14, cuda.to_device(payload))
    assert np.array_equal(found[0].copy_to_host(), expected[0])
    assert np.array_equal(found[1].copy_to_host(), expected[1])
    starts = gpu.row_starts(found[0], 3, 11, 1 << 11)
    assert np.array_equal(starts.copy_to_host(), cpu.row_starts(expected[0], 3, 11, 1 << 11))
