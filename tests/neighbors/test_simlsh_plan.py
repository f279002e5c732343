"""Sizes of sums, and keys."""

import numpy as np
import pytest

from gpukit.neighbors import run


@pytest.mark.parametrize("longest, weights, bits", [(0, [5], 1), (3, [1, 5], 4), (4, [-4, 1], 5), (7, [0], 1)])
def test_slices_hold_the_largest_sum(longest, weights, bits):
    assert run.sum_slices(np.array([0, 0, longest]), np.array(weights)) == bits


def test_keys_of_words_differ():
    assert len({int(key) for seed in (0, 1, 2**40) for key in run.word_keys(seed, 700)}) == 2100
