"""Tables and shared hashings on the CPU against comparing all fine hashings of all pairs."""

import numpy as np
import pytest

from gpukit.neighbors import cpu
from gpukit.neighbors import search_twins as twins
from gpukit.neighbors.plan import Items, Settings
from neighbors import naive
from neighbors.inputs import codes, unpack
from neighbors.search_inputs import STRIPES

WIDTHS = [(1, 7, 1), (2, 3, 3), (3, 5, 8), (1, 3, 32), (1, 2, 33), (2, 2, 32), (9, 3, 8)]  # p, q, bits


def misses(made, rated, settings, first, n_rows):
    """Return the oracle's keys; q for a pair without any."""
    expected = naive.distances(unpack(made, settings.n_bits), rated, settings.q)[first : first + n_rows]
    return np.where(expected == None, settings.q, expected).astype(np.uint32)  # noqa: E711


@pytest.mark.parametrize("p, q, bits", WIDTHS)
@pytest.mark.parametrize("first, n_rows, n_items", STRIPES)
def test_keys_are_missed_hashings(first, n_rows, n_items, p, q, bits):
    settings = Settings(1, p, q, bits, search="buckets")
    made, rated = codes(n_items, settings.n_words, settings.n_bits)
    keys = np.full((n_rows, n_items), 77, np.uint32)
    cpu.bucket_stripes(Items(None, made, rated), settings)(first, keys)
    np.testing.assert_array_equal(keys, misses(made, rated, settings, first, n_rows))


def test_tables_are_sorted_and_items_without_ratings_come_last():
    settings = Settings(1, 2, 5, 3, search="buckets")
    made, rated = codes(20, settings.n_words, settings.n_bits)
    hashes, mates = cpu.sorted_tables(Items(None, made, rated), settings)
    for row, order in zip(hashes, mates, strict=True):
        assert sorted(order) == list(range(20)) and (np.diff(row[order]) >= 0)[:-1].all()
        assert order[-1] == 10 and np.isinf(row[10]) and np.isfinite(np.delete(row, 10)).all()


@pytest.mark.parametrize("stripes", [cpu.hamming_stripes, cpu.bucket_stripes])
def test_flags_of_an_update_compile_nothing(stripes):
    """They are uint8, as on a GPU; those of a training are bool."""
    settings = Settings(1, 2, 5, 3, search="buckets")
    made, rated = codes(20, settings.n_words, settings.n_bits)
    keys, loops = np.empty((2, 20, 20), np.uint32), [twins.hamming_distances, twins.table_hashes, twins.bucket_matches]
    stripes(Items(None, made, rated), settings)(0, keys[0])
    compiled = [len(loop.addresses) for loop in loops]
    stripes(Items(None, made, rated.astype(np.uint8)), settings)(0, keys[1])
    np.testing.assert_array_equal(keys[1], keys[0])
    assert [len(loop.addresses) for loop in loops] == compiled


def test_different_codes_with_one_hash_do_not_meet():
    """The hash selects pairs to compare, the bits decide."""
    made, rated = codes(9, 1, 24)
    hashes, mates = np.zeros((3, 9), np.float32), np.tile(np.arange(9, dtype=np.int32), (3, 1))
    keys, settings = np.full((9, 9), 3, np.uint32), Settings(1, 1, 3, 8, search="buckets")
    twins.bucket_matches(made, np.ones(9, bool), 8, hashes, mates, 0, keys)
    np.testing.assert_array_equal(keys, misses(made, np.ones(9, bool), settings, 0, 9))
