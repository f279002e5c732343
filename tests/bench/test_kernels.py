"""The paper's kernel compared with its twin: rows one by one in a warp, or rows without common columns."""

import numpy as np
import pytest
from support import launch

pytestmark = pytest.mark.kernel

from gpukit.bench import kernels, twins


def problem(disjoint, factors, seed=0):
    """Four rows of 0 to 9 ratings; disjoint: no two rows share a column."""
    random = np.random.default_rng(seed)
    counts = np.array([9, 5, 1, 0])
    indptr = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
    columns = np.arange(16) if disjoint else random.integers(0, 9, 16)
    minor = np.concatenate(
        [
            random.permutation(9)[:n] if not disjoint else columns[indptr[i] : indptr[i + 1]]
            for i, n in enumerate(counts)
        ]
    ).astype(np.int32)
    P, Q = (random.normal(0, 0.5, (n, factors)).astype(np.float32) for n in (4, 16))
    ratings = random.normal(0, 1, len(minor)).astype(np.float32)
    return np.arange(4, dtype=np.int32), indptr, minor, ratings, P, Q


@pytest.mark.parametrize("lanes, factors, disjoint", [(32, 1, False), (32, 3, False), (8, 4, True), (16, 2, True)])
def test_paper_epoch_equals_its_twin(lanes, factors, disjoint):
    arrays = problem(disjoint, lanes * factors)
    rate, decay = np.float32(0.05), np.float32(0.02)
    expected = [array.copy() for array in arrays]
    twins.paper_epoch(*expected, rate, decay)
    launch(kernels.make_paper_epoch(lanes, factors), 1, 32, *arrays, rate, decay)
    np.testing.assert_allclose(arrays[4], expected[4], rtol=2e-5, atol=2e-6)
    np.testing.assert_allclose(arrays[5], expected[5], rtol=2e-5, atol=2e-6)
    assert not np.array_equal(arrays[4], problem(disjoint, lanes * factors)[4])
