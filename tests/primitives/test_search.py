"""primitives.search against numpy.searchsorted, on the CPU and in a kernel."""

import numpy as np
import pytest
import support

from gpukit._cuda import cuda, kernel
from gpukit._jit import njit
from gpukit.primitives.search import lower_bound, make_partition_point, upper_bound

SIZES = [0, 1, 2, 3, 31, 32, 33, 300]


def runs(size):
    """Return (values, keys): ascending with ties, and keys on, between, below and above them."""
    values = np.sort(np.random.default_rng(size).integers(0, max(size // 3, 1), size)).astype(np.float64)
    return values, np.arange(-1, size // 3 + 2, 0.5)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("search, side", [(lower_bound, "left"), (upper_bound, "right")])
def test_bounds(size, search, side):
    values, keys = runs(size)
    assert [search(values, key, 0, size) for key in keys] == list(np.searchsorted(values, keys, side))


@pytest.mark.parametrize("search, side", [(lower_bound, "left"), (upper_bound, "right")])
def test_bounds_of_a_part(search, side):
    values, keys = runs(300)
    found = [search(values, key, 40, 77) for key in keys]
    assert found == list(40 + np.searchsorted(values[40:77], keys, side))


@njit
def _is_before(data, key, position):
    return position < key


def test_positions_are_counted_in_the_number_asked_for():
    """Positions near 2**32 fit 64 bits, their sum would not fit 32."""
    first = 2**32 - 10
    search = make_partition_point(_is_before)
    assert search(0, first + 7, first, first + 20) == first + 7


@kernel(cache=False)
def _bounds(values, keys, found):
    """found[:, i] = lower and upper bound of keys[i]."""
    i = cuda.grid(1)
    if i < keys.size:
        found[0, i] = lower_bound(values, keys[i], 0, values.size)
        found[1, i] = upper_bound(values, keys[i], 0, values.size)


@pytest.mark.kernel
@pytest.mark.parametrize("size", SIZES)
def test_bounds_in_a_kernel(size):
    values, keys = runs(size)
    found = np.full((2, keys.size), -1, np.int64)
    support.launch(_bounds, -(-keys.size // 32), 32, values, keys, found)
    assert np.array_equal(found, [np.searchsorted(values, keys, side) for side in ("left", "right")])
