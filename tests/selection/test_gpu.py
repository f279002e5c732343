"""The host step of the selection on the GPU: any number of results, and remaining memory."""

import numpy as np
import pytest

from selection import inputs, naive
from selection.test_kernels import CASES, few_winners  # noqa: F401

pytestmark = [pytest.mark.kernel, pytest.mark.filterwarnings("ignore:overflow encountered")]

from gpukit._cuda import cuda
from gpukit.selection import kernels


@pytest.mark.parametrize("case", ["few keys", "above the limit", "one more than a turn", "ties across turns"])
def test_smallest(case):
    keys, k, limit = inputs.keys(case, CASES)
    indices, values = kernels.smallest(cuda.to_device(keys), k, limit)
    expected = np.array(naive.smallest(keys, k, limit))
    np.testing.assert_array_equal(indices.copy_to_host(), expected[:, :, 0])
    np.testing.assert_array_equal(values.copy_to_host(), expected[:, :, 1])


def test_the_limit_is_the_last_key_where_none_is_given():
    indices, values = kernels.smallest(cuda.to_device(np.array([[2**32 - 1, 2**32 - 2, 0]], np.uint32)), 3)
    assert indices.copy_to_host().tolist() == [[2, 1, 0]]
    assert values.copy_to_host().tolist() == [[0, 2**32 - 2, 2**32 - 1]]
