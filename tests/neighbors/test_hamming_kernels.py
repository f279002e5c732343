"""Distances by the kernel against counting bit by bit."""

import numpy as np
import pytest
from support import launch

pytestmark = [pytest.mark.kernel, pytest.mark.filterwarnings("ignore:overflow encountered")]

from gpukit.neighbors import search_kernels as kernels
from gpukit.neighbors.formulas import NOBODY
from gpukit.neighbors.plan import blocks
from neighbors import naive
from neighbors.inputs import codes, unpack
from neighbors.search_inputs import STRIPES


@pytest.mark.slow
@pytest.mark.parametrize("first, n_rows, n_items, n_words", [(*STRIPES[i], (1, 2, 16, 15, 31)[i]) for i in range(5)])
def test_hamming_distances(first, n_rows, n_items, n_words):
    made, rated = codes(n_items, n_words, 32 * n_words - 5)
    keys = np.zeros((n_rows, n_items), np.uint32)
    grid = blocks(n_items, kernels.TILE), blocks(n_rows, kernels.TILE)
    launch(kernels.hamming_distances, grid, kernels.BLOCK, made, rated.astype(np.uint8), first, keys)
    expected = naive.distances(unpack(made, 32 * n_words), rated)[first : first + n_rows]
    np.testing.assert_array_equal(keys, np.where(expected == None, NOBODY, expected).astype(np.uint32))  # noqa: E711


def test_more_query_rows_than_a_tile():
    made, rated = codes(kernels.TILE + 2, 1, 32)
    keys = np.zeros((len(made), len(made)), np.uint32)
    launch(kernels.hamming_distances, (2, 2), kernels.BLOCK, made, rated.astype(np.uint8), 0, keys)
    expected = naive.distances(unpack(made, 32), rated)
    np.testing.assert_array_equal(keys, np.where(expected == None, NOBODY, expected).astype(np.uint32))  # noqa: E711
