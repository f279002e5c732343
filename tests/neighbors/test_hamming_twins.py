"""Distances on the CPU against counting bit by bit."""

import numpy as np
import pytest

from gpukit.neighbors import search_twins as twins
from gpukit.neighbors.formulas import NOBODY
from neighbors import naive
from neighbors.inputs import codes, unpack
from neighbors.search_inputs import STRIPES


@pytest.mark.parametrize("n_words", [1, 3, 16])
@pytest.mark.parametrize("first, n_rows, n_items", [*STRIPES, (126, 4, 2 * twins.TILE + 1)])
def test_hamming_distances(first, n_rows, n_items, n_words):
    made, rated = codes(n_items, n_words, 32 * n_words - 5)
    keys = np.zeros((n_rows, n_items), np.uint32)
    twins.hamming_distances(made, rated, first, keys)
    expected = naive.distances(unpack(made, 32 * n_words), rated)[first : first + n_rows]
    np.testing.assert_array_equal(keys, np.where(expected == None, NOBODY, expected).astype(np.uint32))  # noqa: E711


def test_popcount():
    words = np.append(np.random.default_rng(0).integers(0, 2**64, 100, np.uint64), np.uint64([0, 2**64 - 1, 2**63]))
    assert [int(twins.popcount(word)) for word in words] == [int(word).bit_count() for word in words]
