"""Ratings as whole numbers."""

import numpy as np
import pytest

from gpukit.neighbors import run
from gpukit.neighbors.formulas import packing


@pytest.mark.parametrize(
    "values, expected",
    [
        ([1, 2, 3, 4, 5], [0, 1, 2, 3, 4]),
        ([0.5, 1, 4.5], [0, 1, 8]),
        ([-4, 0, 6], [0, 2, 5]),
        ([7], [0]),
        ([0.1], [0]),
        (np.arange(1, 201) / 2, np.arange(200)),
        ([0, 1023], [0, 1]),
        ([0, 1, 1023], [0, 1, 1023]),
        ([0, 1, 2046], [0, 0, 1023]),
        ([0.1, 0.2, 1.1], [0, 102, 1023]),
        ([-1e30, 0, 1e30], [0, 512, 1023]),
    ],
)
def test_whole_numbers(values, expected):
    found = run.whole_numbers(np.float32(values), 100)
    assert found.dtype == np.uint32
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("longest", [0, 1, 1000, 40_000, 237_402, 10**6, 10**7, 2**28 - 1])
def test_sums_of_the_finest_scale_fit(longest):
    most, n = run.most_steps(longest), max(longest, 1)
    assert 1 <= most <= 1023 and n * most**2 < 2**35 and n * most < 2**28
    assert most == 1023 or n * (most + 1) ** 2 >= 2**35 or n * (most + 1) >= 2**28
    assert run.whole_numbers([0, 1, 2000], longest)[-1] == most


@pytest.mark.parametrize("most", [0, 1, 4, 9, 31, 199, 255, 1023])
def test_sums_of_a_part_fit_a_word(most):
    users, shift = packing(most)
    assert 1 <= users <= 4095 and users * most * most < 2**shift and users * max(most, 1) < 2 ** (32 - shift)
    assert users == 4095 or (2 * users + 1) * most * most >= 2**shift or 2 * users * most >= 2 ** (31 - shift)
