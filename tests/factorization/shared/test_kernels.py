"""The kernel that groups a rank's ratings by block, against its twin and a plain loop: exact."""

import numpy as np
import pytest

pytestmark = pytest.mark.kernel

from support import launch

from factorization.shared.test_ready import keyed
from gpukit.factorization.shared import kernels, twins


@pytest.mark.parametrize("counts", [[1], [0, 3, 0, 0, 2, 0], [1, 2, 16, 17, 0, 64]], ids=str)
@pytest.mark.parametrize("shape", [(1, 32), (3, 64)], ids=str)
def test_key_blocks(counts, shape):
    starts, others, where, blocks, expected = keyed(counts)
    found, by_twin = (np.full(len(where), 77, np.uint64) for _ in range(2))
    launch(kernels.key_blocks, *shape, starts, others, where, blocks, len(counts), found)
    twins.key_blocks(starts, others, where, blocks, len(counts), by_twin)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(by_twin, expected)
