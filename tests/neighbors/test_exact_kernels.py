"""Pairs by the kernels against the twins'."""

import numpy as np
import pytest

from neighbors.inputs import columns, columns_on_device

pytestmark = [pytest.mark.kernel, pytest.mark.filterwarnings("ignore:overflow encountered")]

from support import thinned

from gpukit.neighbors import gpu, run
from gpukit.ratings import Ratings
from neighbors.exact_inputs import CLICKS, SHAPES, case, clicks
from neighbors.test_exact_twins import NO_LEVELS, keys_of, whole_keys


def kernel_keys(table, numbers, first, n_rows):
    """Return keys_of by the kernels."""
    runs = [(first, first + n_rows)]
    selections = gpu.select_pairs(columns_on_device(table), numbers, len(table.indptr) - 1, runs)
    return whole_keys(((begin, [array.copy_to_host() for array in selected]) for begin, selected in selections), first)


@pytest.mark.parametrize("name, tile", thinned(SHAPES, [32, 128], share=2))
def test_pairs_of_ratings(name, tile, monkeypatch):
    """Tiles of 32 and of 128 items, parts of 1 to 4,095 users."""
    monkeypatch.setattr(gpu, "BLOCK", min(tile, 64))
    monkeypatch.setattr(gpu, "RATINGS", tile // min(tile, 64))
    table = columns(case(name))
    first = min(2, len(table.indptr) - 3)
    n_rows = min(2, len(table.indptr) - 1 - first)
    numbers = run.whole_numbers(table.values, int(np.diff(table.indptr).max()))
    np.testing.assert_array_equal(kernel_keys(table, numbers, first, n_rows), keys_of(table, first, n_rows))


@pytest.mark.parametrize("name, tile", thinned(CLICKS, [32, 192], share=2))
def test_pairs_of_clicks(name, tile, monkeypatch):
    """Tiles of 32 and of 192 items, hash tables of 16 and of 64 slots."""
    monkeypatch.setattr(gpu, "BLOCK", min(tile, 64))
    monkeypatch.setattr(gpu, "CLICKS", tile // min(tile, 64))
    table = columns(clicks(name))
    n_rows = min(6, len(table.indptr) - 1)
    keys = kernel_keys(table, NO_LEVELS, 0, n_rows)
    np.testing.assert_array_equal(keys, keys_of(table, 0, n_rows, NO_LEVELS))


@pytest.mark.parametrize("met", [9, 12, 13, 15])
def test_a_full_hash_table(met, monkeypatch):
    """A query that meets up to three quarters of 16 slots is counted in a hash table, others in tiles of 32."""
    monkeypatch.setattr(gpu, "BLOCK", 32)
    monkeypatch.setattr(gpu, "CLICKS", 1)
    users = np.zeros(met, np.int32)
    items = (np.arange(met) * 9 % 70).astype(np.int32)
    made = Ratings(users, items, np.ones(met, np.float32), np.arange(1), np.arange(70))
    table = columns(made)
    np.testing.assert_array_equal(kernel_keys(table, NO_LEVELS, 0, 6), keys_of(table, 0, 6, NO_LEVELS))
