"""Weights of levels, and columns divided into units."""

import numpy as np
import pytest

from gpukit.neighbors import run


def test_weights_of_levels():
    np.testing.assert_array_equal(run.level_weights([0.5, 1, 4.5], 2), [1, 4, 81])
    np.testing.assert_array_equal(run.level_weights([-2, 3], 1), [-2, 3])
    rounded = run.level_weights([0.1, 0.2], 2)
    assert rounded[1] == 2**20 and abs(rounded[0] / rounded[1] - 0.25) < 1e-6
    assert run.level_weights([0.0], 2)[0] == 0
    assert np.abs(run.level_weights([1e30, -1e30], 1)).max() <= 2**31


def test_a_common_factor_is_taken_out_of_no_weight():
    np.testing.assert_array_equal(run.level_weights([1, 1.00390625], 1), [256, 257])
    assert run.level_weights([2**15], 2)[0] == 2**30
    np.testing.assert_array_equal(run.level_weights([2**16, -(2**15)], 2), [2**20, 2**18])  # 2**32 is too large


def test_units_cover_each_column_once():
    indptr = np.array([0, 0, 10, 11, 40])
    units, joins, slots = run.work_units(indptr, chunk=9)
    assert (units[:, 2] - units[:, 1]).max() <= 9 and list(joins[:, 0]) == [1, 3] and slots == 6
    spans = sorted((item, begin, end) for item, begin, end, _ in units.tolist())
    assert [s[1:] for s in spans if s[0] == 0] == [(0, 0)]
    covered = np.concatenate([np.arange(b, e) for _, b, e in spans])
    np.testing.assert_array_equal(covered, np.arange(40))
    for item, first, last in joins:
        assert sorted(units[units[:, 0] == item, 3]) == list(range(first, last))


@pytest.mark.parametrize("lengths", [[0], [4095], [4096, 3], [9000, 0, 4095, 1, 8191], [5] * 40])
def test_units_are_even_and_the_longest_come_first(lengths):
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    units, joins, slots = run.work_units(indptr)
    sizes = units[:, 2] - units[:, 1]
    assert units.dtype == joins.dtype == np.int64 and (np.diff(sizes) <= 0).all() and sizes.max() <= run.CHUNK
    for item, length in enumerate(lengths):
        own = units[units[:, 0] == item]
        assert len(own) == max(1, -(-length // run.CHUNK)) and np.ptp(own[:, 2] - own[:, 1]) <= 1
        assert (own[:, 3] >= 0).all() == (len(own) > 1) and (own[:, 1:3] >= indptr[item]).all()
    assert slots == sum(n for n in (-(-length // run.CHUNK) for length in lengths) if n > 1)
    assert sorted(units[units[:, 3] >= 0, 3]) == list(range(slots)) and len(joins) == sum(n > 4095 for n in lengths)
