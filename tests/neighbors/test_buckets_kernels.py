"""Tables and shared hashings by the kernels against the twins and the oracle."""

import numpy as np
import pytest
from support import launch

pytestmark = [pytest.mark.kernel, pytest.mark.filterwarnings("ignore:overflow encountered")]

from gpukit._cuda import cuda
from gpukit.neighbors import cpu, gpu
from gpukit.neighbors import search_kernels as kernels
from gpukit.neighbors.plan import Items, Settings
from neighbors.inputs import codes
from neighbors.test_buckets_twins import misses


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Several blocks for every table, the last one not full."""
    monkeypatch.setattr(gpu, "BLOCK", 32)


@pytest.mark.parametrize(
    "p, q, bits, first, n_rows, n_items",
    [(1, 7, 1, 0, 2, 2), (2, 3, 3, 5, 6, 37), (1, 3, 33, 30, 3, 33), (9, 2, 8, 0, 9, 9)],
)
def test_keys_are_missed_hashings(p, q, bits, first, n_rows, n_items):
    settings = Settings(1, p, q, bits, search="buckets")
    made, rated = codes(n_items, settings.n_words, settings.n_bits)
    sent = Items(None, cuda.to_device(made), cuda.to_device(rated.astype(np.uint8)))
    hashes, mates = (array.copy_to_host() for array in gpu.sorted_tables(sent, settings))
    expected = cpu.sorted_tables(Items(None, made, rated), settings)
    np.testing.assert_array_equal(hashes, expected[0])
    np.testing.assert_array_equal(mates, expected[1])
    keys = cuda.to_device(np.full((n_rows, n_items), 77, np.uint32))
    gpu.bucket_stripes(sent, settings)(first, keys)
    np.testing.assert_array_equal(keys.copy_to_host(), misses(made, rated, settings, first, n_rows))


def test_different_codes_with_one_hash_do_not_meet():
    made, _ = codes(9, 1, 24)
    hashes, mates = np.zeros((3, 9), np.float32), np.tile(np.arange(9, dtype=np.int32), (3, 1))
    keys, rated = np.full((9, 9), 3, np.uint32), np.ones(9, np.uint8)
    launch(kernels.bucket_matches, 3 * 3, 32, made, rated, 8, hashes, mates, 0, keys)
    np.testing.assert_array_equal(keys, misses(made, rated > 0, Settings(1, 1, 3, 8, search="buckets"), 0, 9))


@pytest.mark.parametrize("size", [1, 255, 300])
def test_fill(size):
    array = np.zeros(size + 1, np.uint32)
    launch(kernels.fill, 2, 64, array[:size], 5)
    launch(kernels.fill, 1, 32, array, 5)
    assert (array == 5).all()


def test_any_number_of_tables_fits_the_grid():
    assert gpu.table_blocks(2**20, 33) == 2**21 and isinstance(gpu.table_blocks(3, np.int64(7)), int)
