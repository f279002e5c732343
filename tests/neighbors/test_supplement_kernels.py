"""Neighbours, scores and the random supplement by the kernel against lists in Python."""

import numpy as np
import pytest

pytestmark = [pytest.mark.kernel, pytest.mark.filterwarnings("ignore:overflow encountered")]

from gpukit._cuda import cuda
from gpukit.neighbors import gpu
from gpukit.neighbors.plan import Lists
from gpukit.neighbors.run import empty_lists
from neighbors.inputs import selection_of
from neighbors.test_supplement_twins import CASES, check


@pytest.mark.slow
@pytest.mark.parametrize("n_items, k, worst", CASES)
def test_fill_slots(n_items, k, worst):
    selected, lists = selection_of(n_items, k, worst, seed=k), empty_lists(gpu, n_items, k)
    for first, last in ((0, n_items // 2), (n_items // 2, n_items)):
        stripe = [cuda.to_device(np.ascontiguousarray(array[first:last])) for array in selected]
        gpu.fill_slots(stripe, first, worst, 2**40 + k, lists)
    check(Lists(*(array.copy_to_host() for array in lists)), selected, worst, 2**40 + k)
