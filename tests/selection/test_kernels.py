"""The selection kernel against Python's stable sort."""

import numpy as np
import pytest
from support import SIMULATED, launch

from selection import inputs, naive

pytestmark = [pytest.mark.kernel, pytest.mark.filterwarnings("ignore:overflow encountered")]

from gpukit.selection import kernels

CASES = inputs.make_cases(256, 1 << 14) if SIMULATED else inputs.CASES


@pytest.fixture(autouse=True)
def few_winners(monkeypatch):
    """In the simulator, turns of fewer winners, because each is compared with each, and shorter long rows."""
    if SIMULATED:
        monkeypatch.setattr(kernels, "MOST", 256)
        monkeypatch.setattr(kernels, "LONG", 1 << 14)


@pytest.mark.parametrize("case", inputs.CASES)
def test_select_smallest(case):
    keys, k, limit = inputs.keys(case, CASES)
    indices, values = np.full((len(keys), k), -1, np.int32), np.zeros((len(keys), k), np.uint32)
    launch(kernels.select_smallest, len(keys), kernels.BLOCK_SIZE, keys, np.uint32(limit), indices, values)
    expected = np.array(naive.smallest(keys, k, limit))
    np.testing.assert_array_equal(indices, expected[:, :, 0])
    np.testing.assert_array_equal(values, expected[:, :, 1])


@pytest.mark.parametrize("case", inputs.LISTS)
def test_select_listed(case):
    begins, sizes, entries, k = inputs.lists(case)
    indices, values = np.full((len(sizes), k), 7, np.int32), np.zeros((len(sizes), k), np.uint32)
    launch(kernels.select_listed, len(sizes), kernels.BLOCK_SIZE, begins, sizes, entries, indices, values)
    expected = np.array(naive.smallest_listed(begins, sizes, entries, k))
    np.testing.assert_array_equal(indices, expected[:, :, 0])
    np.testing.assert_array_equal(values, expected[:, :, 1])
