"""The kernels, launched by the host steps, against the twins: equal to the bit."""

import numpy as np
import pytest

from neighbors.inputs import ratings

pytestmark = [pytest.mark.kernel, pytest.mark.filterwarnings("ignore:overflow encountered")]

from gpukit.neighbors import cpu, gpu
from gpukit.neighbors.columns import columns
from gpukit.neighbors.plan import CHUNK, Settings

CASES = {  # ratings(users, items, density, levels), settings, chunk
    "one hash bit": ((4, 3, 0.9, [1, 2]), Settings(2, 1, 1, 1), CHUNK),
    "unused high bits": ((9, 5, 0.6, [1, 3, 5]), Settings(2, 2, 5, 4), CHUNK),
    "all words full": ((9, 5, 0.6, [1, 3, 5]), Settings(2, 2, 4, 8, psi=4, seed=7), CHUNK),
    "long runs": ((47, 2, 1.0, [2, 4]), Settings(1, 1, 4, 8), CHUNK),
    "cut columns": ((47, 3, 0.9, [1, 2, 3]), Settings(2, 1, 4, 8, seed=2), 9),
    "negative ratings": ((20, 4, 0.8, [-3, -1, 0, 2]), Settings(3, 3, 3, 5, psi=1), 7),
    "half stars": ((20, 4, 0.8, [0.5, 1.5, 4.5]), Settings(2, 1, 5, 8), CHUNK),
}


@pytest.mark.parametrize("case", CASES)
def test_hash_codes(case):
    shape, settings, chunk = CASES[case]
    table = columns(ratings(*shape, seed=3))
    codes = gpu.hash_codes(gpu.to_device(table), settings, chunk).copy_to_host()
    np.testing.assert_array_equal(codes, cpu.hash_codes(table, settings, chunk))


@pytest.mark.parametrize("search", ["hamming", "buckets"])
@pytest.mark.parametrize("n_items, p, bits, k", [(3, 1, 3, 2), (33, 2, 3, 4), (6, 5, 16, 5)])
def test_find(search, n_items, p, bits, k):
    table = columns(ratings(12, n_items, 0.5, [1, 2, 5], seed=n_items, empty=[1]))
    settings = Settings(k, p, 6, bits, search=search, seed=n_items)
    found, expected = gpu.find(gpu.to_device(table), settings), cpu.find(table, settings)
    np.testing.assert_array_equal(found.neighbors.copy_to_host(), expected.neighbors)
    np.testing.assert_array_equal(found.scores.copy_to_host(), expected.scores)
    assert found.random_slots == expected.random_slots


def test_stripes_of_query_rows_do_not_show(monkeypatch):
    monkeypatch.setattr(gpu, "STRIPE_BYTES", 1)  # one tile of rows at a time
    table = columns(ratings(4, 66, 0.4, [1, 2], seed=0))
    settings = Settings(1, 1, 4, 2, search="hamming")
    found, expected = gpu.find(gpu.to_device(table), settings), cpu.find(table, settings)
    np.testing.assert_array_equal(found.neighbors.copy_to_host(), expected.neighbors)
