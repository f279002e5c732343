"""Products of bit matrices against counting common bits, on tensor cores and by shuffles."""

import numpy as np
import pytest
from support import launch

pytestmark = [pytest.mark.kernel, pytest.mark.filterwarnings("ignore:overflow encountered")]

from gpukit._cuda import cuda, kernel
from gpukit.primitives.bit_matrix import bit_products, shuffled_products

U32 = np.uint32


def kernel_of(product):
    """Return a kernel that adds the common bits of rows (16, 8) and columns (8, 8) to sums (16, 8)."""

    @kernel
    def multiply(rows, columns, sums):
        lane = U32(cuda.threadIdx.x)
        g, t = lane // U32(4), lane % U32(4)
        high, left, right = g + U32(8), U32(2) * t, U32(2) * t + U32(1)
        a = (rows[g, t], rows[high, t], rows[g, t + U32(4)], rows[high, t + U32(4)])
        before = (sums[g, left], sums[g, right], sums[high, left], sums[high, right])
        after = product(lane, a, (columns[g, t], columns[g, t + U32(4)]), before)
        sums[g, left], sums[g, right], sums[high, left], sums[high, right] = after

    return multiply


@pytest.mark.parametrize("product", [bit_products, shuffled_products], ids=["bit_products", "shuffled_products"])
def test_common_bits(product):
    rng = np.random.default_rng(3)
    rows, columns = (rng.integers(0, 2**32, (n, 8), dtype=np.uint32) for n in (16, 8))
    rows[0], columns[7] = 2**32 - 1, 2**32 - 1
    before = rng.integers(0, 1000, (16, 8), dtype=np.uint32)
    sums = before.copy()
    launch(kernel_of(product), 1, 32, rows, columns, sums)
    common = [[sum((int(x) & int(y)).bit_count() for x, y in zip(row, column)) for column in columns] for row in rows]
    np.testing.assert_array_equal(sums, before + np.array(common, np.uint32))
