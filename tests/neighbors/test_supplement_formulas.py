"""The random order of the supplement, and scores."""

import numpy as np
import pytest

from gpukit.neighbors.formulas import agreement, permutation_half
from gpukit.random import shuffle_index


@pytest.mark.parametrize("n", [1, 2, 3, 5, 64, 65, 1000])
def test_shuffled_is_a_permutation(n):
    half = permutation_half(n)
    orders = [[int(shuffle_index(np.uint32(key), index, half, n)) for index in range(n)] for key in (1, 2)]
    assert sorted(orders[0]) == list(range(n))
    assert n < 64 or orders[0] != orders[1]


def test_agreement_is_the_nearest_float32():
    for key, worst in ((0, 7), (1, 3), (2399, 2400), (2**20 - 1, 2**20)):
        assert agreement(np.uint32(key), np.uint32(worst)) == np.float32((worst - key) / worst)
