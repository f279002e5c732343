"""Neighbours on the GPU against those on the CPU: equal to the bit."""

import numpy as np
import pytest

from neighbors.inputs import columns, columns_on_device, ratings

pytestmark = [pytest.mark.kernel, pytest.mark.filterwarnings("ignore:overflow encountered")]

from gpukit.neighbors import cpu, gpu
from gpukit.neighbors import search_kernels as kernels
from gpukit.neighbors.plan import HASHES, SEARCHES, Settings, stripe_rows


@pytest.fixture(autouse=True)
def small_tiles(monkeypatch):
    """Of the exact search."""
    monkeypatch.setattr(gpu, "BLOCK", 32)


@pytest.mark.slow
@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("n_items, p, bits, k", [(3, 1, 3, 2), (33, 2, 3, 4), (6, 5, 16, 5)])
def test_find(search, n_items, p, bits, k):
    table = columns(ratings(12, n_items, 0.5, [1, 2, 5], seed=n_items, empty=[1]))
    settings = Settings(k, p, 6, bits, search=search, seed=n_items)
    found, expected = gpu.find(columns_on_device(table), settings), cpu.find(table, settings)
    np.testing.assert_array_equal(found.neighbors.copy_to_host(), expected.neighbors)
    np.testing.assert_array_equal(found.scores.copy_to_host(), expected.scores)
    assert found.random_slots == expected.random_slots


@pytest.mark.parametrize("hash", HASHES)
def test_find_by_hash(hash):
    table = columns(ratings(12, 9, 0.5, [1, 2, 5], seed=1, empty=[1]))
    settings = Settings(4, 2, 6, 3, hash=hash, seed=5)
    found, expected = gpu.find(columns_on_device(table), settings), cpu.find(table, settings)
    np.testing.assert_array_equal(found.neighbors.copy_to_host(), expected.neighbors)


@pytest.mark.slow
def test_stripes_of_query_rows_do_not_show(monkeypatch):
    monkeypatch.setattr(gpu, "STRIPE_BYTES", 1)  # three rows at a time, less than a tile
    monkeypatch.setattr(gpu, "ROWS", 1)
    monkeypatch.setitem(gpu.STRIPES, "hamming", (gpu.STRIPES["hamming"][0], lambda: 3))
    table = columns(ratings(4, 8, 0.6, [1, 2], seed=0))
    settings = Settings(1, 1, 4, 2, search="hamming")
    found, expected = gpu.find(columns_on_device(table), settings), cpu.find(table, settings)
    np.testing.assert_array_equal(found.neighbors.copy_to_host(), expected.neighbors)


@pytest.mark.parametrize(
    "n_items, spare, rows", [(1 << 16, 0, 1024), (1 << 20, 1 << 40, 1024), (1 << 20, 2 << 30, 128)]
)
def test_a_stripe_has_many_rows_where_memory_holds_them(n_items, spare, rows, monkeypatch):
    monkeypatch.setattr(gpu.memory, "spare_memory", lambda: spare)
    assert stripe_rows(n_items, gpu.stripe_bytes(n_items), kernels.TILE) == rows
