"""Grouping on the CPU: twins and host steps against plain loops."""

import numpy as np
import pytest

from gpukit.primitives.group import cpu, formulas, twins
from primitives import naive_group as naive


def made_keys(n, seed=0, bits=40):
    return np.random.default_rng(seed).integers(0, 1 << bits, n, dtype=np.uint64)


@pytest.mark.parametrize("n", [0, 1, 2, 31, 2047, 2048, 2049, 10_000])
@pytest.mark.parametrize("begin, end", [(0, 0), (0, 1), (3, 11), (5, 30), (0, 40)])
def test_records_come_in_order_of_the_bits_asked_for_and_no_others(n, begin, end):
    keys = made_keys(n)
    payload = np.arange(n, dtype=np.uint32)
    expected = naive.order(keys, begin, end - begin) if end - begin < 12 else None
    if expected is None:
        expected = np.argsort((keys >> np.uint64(begin)) & np.uint64((1 << (end - begin)) - 1), kind="stable")
    ordered, moved, _ = cpu.sort_by_bits(keys.copy(), begin, end, payload.copy())
    assert np.array_equal(moved, expected) and np.array_equal(ordered, keys[np.array(expected, np.int64)])
    assert np.array_equal(cpu.sort_by_bits(keys.copy(), begin, end)[0], ordered)


def test_the_work_lies_in_what_was_given_to_work_in():
    keys, spare = made_keys(100), (np.empty(100, np.uint64), np.empty(100, np.uint32))
    ordered, _, free = cpu.sort_by_bits(keys, 0, 8, np.zeros(100, np.uint32), spare)
    assert ordered is spare[0] and free[0] is keys


@pytest.mark.parametrize("width", [1, 5, 8])
@pytest.mark.parametrize("tiles, blocks", [(1, 3), (2, 2), (3, 1)])
def test_count_and_scan(width, tiles, blocks):
    keys = made_keys(2 * 2048 + 17)
    counts, totals = np.empty((1 << width, blocks), np.int64), np.empty(1 << width, np.int64)
    twins.count_digits(keys, 4, width, tiles, counts)
    expected = np.array(naive.counts(keys, 4, width, twins.TILE, tiles, blocks))
    assert np.array_equal(counts, expected)
    twins.scan_digits(counts, totals)
    assert np.array_equal(totals, expected.sum(axis=1))
    assert np.array_equal(counts, np.cumsum(expected, axis=1) - expected)


@pytest.mark.parametrize(
    "rows, n_rows", [([0], 1), ([4], 6), ([0, 0, 2, 2, 2, 5], 6), ([1, 3], 9), ([], 3), ([2, 2], 3)]
)
def test_row_starts(rows, n_rows):
    keys = np.array(rows, np.uint64) << np.uint64(7) | np.uint64(5)
    assert cpu.row_starts(keys, 7, 5, n_rows).tolist() == naive.starts(rows, n_rows)


@pytest.mark.parametrize(
    "begin, end, digits",
    [(0, 0, []), (3, 4, [(3, 1)]), (0, 8, [(0, 8)]), (0, 9, [(0, 4), (4, 5)]), (3, 21, [(3, 6), (9, 6), (15, 6)])],
)
def test_digits_cover_the_bits_once(begin, end, digits):
    assert formulas.digits(begin, end) == digits


@pytest.mark.parametrize("n, tile, most", [(1, 10, 4), (10, 10, 4), (11, 10, 4), (500, 10, 4), (41, 10, 4)])
def test_blocks_cover_all_tiles(n, tile, most):
    tiles, blocks = formulas.tiles_a_block(n, tile, most)
    assert blocks <= most and tiles * blocks * tile >= n > tiles * (blocks - 1) * tile
