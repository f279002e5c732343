"""Keys by the kernel against the twin's."""

import numpy as np
import pytest

from neighbors.inputs import columns, columns_on_device

pytestmark = [pytest.mark.kernel, pytest.mark.filterwarnings("ignore:overflow encountered")]

from gpukit._cuda import cuda
from gpukit.neighbors.plan import Items, Settings
from gpukit.neighbors.search.exact import gpu
from neighbors.search.exact.inputs import SHAPES, case
from neighbors.search.exact.test_twins import keys_of


@pytest.mark.parametrize("block, per_thread", [(32, 1), (64, 2)])
@pytest.mark.parametrize("name", SHAPES)
def test_pair_distances(name, block, per_thread, monkeypatch):
    """Tiles of 32 and of 128 items, parts of 1 to 4,095 users."""
    monkeypatch.setattr(gpu, "BLOCK", block)
    monkeypatch.setattr(gpu, "PER_THREAD", per_thread)
    table = columns(case(name))
    first, n_rows, n_items = min(2, len(table.indptr) - 3), 0, len(table.indptr) - 1
    n_rows = min(6, n_items - first)
    keys = cuda.to_device(np.full((n_rows, n_items), 77, np.uint32))
    gpu.stripes(Items(columns_on_device(table), None, None), Settings(1, search="exact"))(first, keys)
    np.testing.assert_array_equal(keys.copy_to_host(), keys_of(table, first, n_rows))
