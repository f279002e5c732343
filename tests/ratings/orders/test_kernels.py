"""Kernels of ordering against their twins: exact; and the whole order on both devices."""

import numpy as np
import pytest
from support import launch, small_launches

from gpukit.device import Device, cpu
from gpukit.ratings.orders import kernels, order, twins
from gpukit.ratings.orders.formulas import FREE, TABLE
from ratings.orders.test_orders import made

pytestmark = pytest.mark.kernel
VALUES = np.array([1.0, 2.5, 0.0, -0.0, -7.0, 1e30, -1e-30], np.float32)


@pytest.mark.parametrize("n", [1, 31, 700])
@pytest.mark.parametrize("grid, block", [(1, 32), (3, 64)])
def test_enter_and_find(n, grid, block):
    values = VALUES[np.random.default_rng(n).integers(0, len(VALUES), n)]
    bits = values.view(np.uint32)
    tables = [np.full(TABLE, FREE, np.uint32) for _ in range(2)]
    found = [np.zeros(2, np.int32) for _ in range(2)]
    launch(kernels.enter_values, grid, block, bits, 254, tables[0], found[0])
    twins.enter_values(bits, 254, tables[1], found[1])
    assert found[0].tolist() == found[1].tolist() == [len(np.unique(values)), 0]
    entered = [np.sort(table[table != FREE].view(np.float32)) for table in tables]
    assert np.array_equal(*entered) and np.array_equal(entered[0], np.unique(values))
    ranks = np.random.default_rng(0).integers(0, 200, TABLE).astype(np.uint8)
    codes = [np.empty(n, np.uint8) for _ in range(2)]
    launch(kernels.find_codes, grid, block, bits, tables[0], ranks, codes[0])
    twins.find_codes(bits, tables[0], ranks, codes[1])
    assert np.array_equal(*codes)


@pytest.mark.parametrize("count, bad", [(5, False), (6, False), (1500, False), (2, True)])
def test_too_many_values_and_ones_that_are_not_finite(count, bad):
    values = np.arange(count, dtype=np.float32)
    values[1] = np.nan if bad else 1
    for enter in (lambda *a: launch(kernels.enter_values, 2, 32, *a), twins.enter_values):
        found = np.zeros(2, np.int32)
        enter(values.view(np.uint32), 5, np.full(TABLE, FREE, np.uint32), found)
        assert (found[0] > 5) == (count > 5) and bool(found[1]) == bad


@pytest.mark.parametrize("grid, block", [(1, 32), (3, 33)])
def test_codes_keys_fields_and_counts(grid, block):
    ratings, n = made(40, 33, 600, values=np.linspace(0, 1, 500)), 600
    codes = [np.empty(n, np.uint8) for _ in range(2)]
    launch(kernels.grid_codes, grid, block, ratings.values, 0.0, 253.0, codes[0])
    twins.grid_codes(ratings.values, 0.0, 253.0, codes[1])
    assert np.array_equal(*codes)
    keys, wrong = [np.empty(n, np.uint64) for _ in range(2)], [np.array([n]) for _ in range(2)]
    for shape, first in (((40, 33), n), ((39, 33), None), ((40, 32), None)):
        wrong = [np.array([n]) for _ in range(2)]
        given = ratings.users, ratings.items, codes[0], *shape, 8, 14
        launch(kernels.pack_keys, grid, block, *given, keys[0], wrong[0])
        twins.pack_keys(*given, keys[1], wrong[1])
        assert np.array_equal(*keys) and wrong[0] == wrong[1] and (first is None or wrong[0] == first)
        assert first is not None or wrong[0] < n
    fields = [[np.empty(n, np.int32), np.empty(n, np.uint8), np.zeros(n, np.uint32)] for _ in range(2)]
    launch(kernels.take_fields, grid, block, keys[0], 8, 6, 8, *fields[0])
    twins.take_fields(keys[0], 8, 6, 8, *fields[1])
    assert all(np.array_equal(a, b) for a, b in zip(*fields))
    assert np.array_equal(fields[0][0], ratings.items) and np.array_equal(fields[0][1], codes[0])
    counts = [np.zeros(254, np.int64) for _ in range(2)]
    launch(kernels.count_codes, grid, block, np.sort(codes[0]), counts[0])
    twins.count_codes(np.sort(codes[0]), counts[1])
    assert np.array_equal(*counts) and np.array_equal(counts[0], np.bincount(codes[0], minlength=254))


@pytest.mark.parametrize("counts", [[3, 0, 70, 1, 0], [0], [1]])
def test_rows_are_named(counts):
    starts, named = np.concatenate(([0], np.cumsum(counts))), [np.full(sum(counts), -1, np.int32) for _ in range(2)]
    launch(kernels.name_rows, 2, 32, starts, named[0])
    twins.name_rows(starts, named[1])
    assert named[0].tolist() == named[1].tolist() == np.repeat(np.arange(len(counts)), counts).tolist()


@pytest.mark.parametrize("rows, expected", [([3, 5, 5, 9, 9], 2), ([1, 2, 3], 3), ([4], 1)])
def test_first_repeat(rows, expected):
    keys = np.array(rows, np.uint64) << np.uint64(3) | np.arange(len(rows), dtype=np.uint64)
    for repeat in (lambda *a: launch(kernels.first_repeat, 2, 32, *a), twins.first_repeat):
        found = np.array([len(rows)])
        repeat(keys, 3, found)
        assert found[0] == expected


@pytest.mark.parametrize("values", [(1.0, 2.0, 3.5), np.linspace(0, 1, 400)])
def test_the_same_orders_on_both_devices(values, monkeypatch):
    small_launches(monkeypatch)
    ratings = made(30, 21, 500, values)
    mine, other = order.order_ratings(ratings, Device("cuda", 0, "")), order.order_ratings(ratings, cpu())
    for one, two in ((mine.by_item, other.by_item), (mine.by_user, other.by_user)):
        assert np.array_equal(one.indptr, two.indptr) and np.array_equal(one.starts.copy_to_host(), two.starts)
        assert np.array_equal(one.others.copy_to_host(), two.others)
        assert np.array_equal(one.codes.copy_to_host(), two.codes)
    assert np.array_equal(mine.places.copy_to_host(), other.places)
    assert np.array_equal(mine.levels.values, other.levels.values) and mine.levels.exact == other.levels.exact
    assert np.array_equal(mine.levels.counts, other.levels.counts)
    assert mine.levels.exact or np.array_equal(mine.values.copy_to_host(), other.values)
