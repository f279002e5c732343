"""The CPU selection against Python's stable sort, and the keys of scores."""

import numpy as np
import pytest

from gpukit.primitives.keys import descending_key, score_of_key
from gpukit.selection import twins
from selection import inputs, naive


@pytest.mark.parametrize("case", inputs.CASES)
def test_select_smallest(case):
    keys, k, limit = inputs.keys(case)
    indices, values = twins.smallest(keys, k, limit)
    expected = np.array(naive.smallest(keys, k, limit))
    np.testing.assert_array_equal(indices, expected[:, :, 0])
    np.testing.assert_array_equal(values, expected[:, :, 1])


def test_keys_sort_scores_the_other_way_round():
    tiny = np.float32(1e-45)
    scores = np.array([np.inf, 3e38, 2, 1, tiny, 0, -tiny, -1, -3e38, -np.inf], np.float32)
    keys = [int(descending_key(score)) for score in scores]
    assert keys == sorted(set(keys))
    np.testing.assert_array_equal([score_of_key(key) for key in keys], scores)
    assert descending_key(np.float32(-0.0)) == descending_key(np.float32(0.0))
    assert descending_key(np.float32(np.nan)) == 2**32 - 1 > max(keys)
    assert np.isnan(score_of_key(2**32 - 1))


def test_scores_of_rows_of_keys():
    given = np.array([[2.5, -1], [np.nan, 0], [-np.inf, 1e-30]], np.float32)
    keys = np.array([[descending_key(score) for score in row] for row in given], np.uint32)
    found = twins.scores(keys)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, given)


@pytest.mark.parametrize("case", inputs.LISTS)
def test_select_listed(case):
    given = inputs.lists(case)
    indices, values = twins.smallest_listed(*given)
    expected = np.array(naive.smallest_listed(*given))
    np.testing.assert_array_equal(indices, expected[:, :, 0])
    np.testing.assert_array_equal(values, expected[:, :, 1])
