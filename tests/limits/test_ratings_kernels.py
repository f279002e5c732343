"""Ratings, pairs and parameter tables beyond 2**31 and 2**32 numbers: kernels, with the last blocks only."""

import numpy as np
import pytest

from limits.sparse import run_last, sparse, with_tail

pytestmark = [pytest.mark.kernel, pytest.mark.simulator]

from cudasim import run_blocks
from gpukit.factorization.model.layout import BASE, EXTRA
from gpukit.factorization.prepare import kernels as prepare
from gpukit.factorization.prepare.formulas import first_factor
from gpukit.factorization.solvers.sgd.formulas import RUN
from gpukit.factorization.solvers.sgd.kernels import make_grow_rows
from gpukit.primitives.group import kernels as group
from gpukit.random import key
from gpukit.ratings.orders import kernels as orders
from gpukit.ratings.orders.formulas import FREE, TABLE, first_slot
from gpukit.ratings.orders.order import MOST_RATINGS

MANY = MOST_RATINGS  # the most ratings that can be ordered
U32, BLOCK = np.uint32, 32


def test_values_become_codes():
    bits = with_tail(MANY - 3, np.array([1, 5, 1], np.float32).view(U32))
    table, found = np.full(TABLE, FREE), np.zeros(2, np.int32)
    run_last(orders.enter_values, MANY, BLOCK, bits, 9, table, found)
    assert found.tolist() == [3, 0] and set(table[table != FREE]) == {0, *bits[-2:].tolist()}
    ranks, codes = np.zeros(TABLE, np.uint8), sparse(MANY, np.uint8)
    for rank, value in enumerate((0, bits[-1], bits[-2])):
        at = first_slot(U32(value))
        assert table[at] == value
        ranks[at] = rank + 4
    run_last(orders.find_codes, MANY, BLOCK, bits, table, ranks, codes)
    assert codes[-4:].tolist() == [4, 5, 6, 5]
    run_last(orders.grid_codes, MANY, BLOCK, bits.view(np.float32), -1.0, 2.0, codes)
    assert codes[-4:].tolist() == [2, 4, 12, 4]


def test_keys_are_packed_and_taken_apart():
    users, items = (with_tail(MANY - 2, np.array(tail, np.int32)) for tail in ([5, 2**31 - 2], [6, 2**20]))
    codes, keys, wrong = with_tail(MANY - 2, np.array([1, 3], np.uint8)), sparse(MANY, np.uint64), np.array([MANY])
    shape = 2**31 - 1, 2**20 + 1
    run_last(orders.pack_keys, MANY, BLOCK, users, items, codes, *shape, 2, 23, keys, wrong)
    assert keys[-2:].tolist() == [5 << 23 | 6 << 2 | 1, (2**31 - 2) << 23 | 2**20 << 2 | 3] and wrong[0] == MANY
    users[-1] = -1
    run_last(orders.pack_keys, MANY, BLOCK, users, items, codes, *shape, 2, 23, keys, wrong)
    assert wrong[0] == MANY - 1
    others, places = sparse(MANY, np.int32), sparse(MANY, U32)
    keys[-1] = (2**31 - 2) << 23 | 2**20 << 2 | 3
    run_last(orders.take_fields, MANY, BLOCK, keys, 23, 31, 2, others, codes, places)
    assert others[-2:].tolist() == [5, 2**31 - 2] and codes[-2:].tolist() == [1, 3]
    assert places[-2:].tolist() == [MANY - 2, MANY - 1]


def test_repeats_and_counts():
    keys, found = with_tail(MANY - 3, np.array([8, 9, 10], np.uint64)), np.array([MANY])
    run_last(orders.first_repeat, MANY, BLOCK, keys, 1, found)
    assert found[0] == -(-MANY // BLOCK) * BLOCK - BLOCK + 1  # all are zeros, from the first inspected one
    keys[: -BLOCK - 1 : -1] = np.arange(2 * BLOCK, 0, -2)
    found[0] = MANY
    run_last(orders.first_repeat, MANY, BLOCK, keys, 1, found)
    assert found[0] == MANY
    run_last(orders.first_repeat, MANY, BLOCK, keys, 6, found)
    assert MANY - 2 * BLOCK < found[0] < MANY
    codes, counts = with_tail(MANY - 2, np.array([7, 7], np.uint8)), np.zeros(256, np.int64)
    run_last(orders.count_codes, MANY, BLOCK, codes, counts)
    assert counts[7] == 2 and counts.sum() == counts[0] + 2


@pytest.mark.parametrize("n", [2**31 + 5, 2**32 + 5])
def test_a_radix_pass(n):
    """The last block of counting and of scattering; all before it is of digit 0."""
    zeros, tail = n - 5, np.array([1, 0, 2, 1, 0], np.uint64) << np.uint64(40)
    keys, blocks = with_tail(zeros, tail), -(-n // group.TILE)
    counts, last = sparse((4, blocks), np.int64), [(blocks - 1, 0, 0)]
    run_blocks(group.count_digits, blocks, group.THREADS, last, keys, 40, 2, 1, counts)
    before = (blocks - 1) * group.TILE
    assert counts[:, -1].tolist() == [n - before - 3, 2, 1, 0]
    counts[:, -1], totals = [before, 0, 0, 0], np.array([n - 3, 2, 1, 0])
    payload, out, carried = with_tail(zeros, np.arange(1, 6, dtype=U32)), sparse(n, np.uint64), sparse(n, U32)
    scatter = group.make_scatter_digits(True)
    run_blocks(scatter, blocks, group.THREADS, last, keys, payload, 40, 2, 1, counts, totals, out, carried)
    assert (out[-5:] >> np.uint64(40)).tolist() == [0, 0, 1, 1, 2] and carried[-5:].tolist() == [2, 5, 1, 4, 3]


def test_row_starts():
    n = 2**32 + 40
    keys, starts = with_tail(n - 3, np.array([4, 4, 7], np.uint64) << np.uint64(9)), np.full(11, -1)
    run_blocks(group.row_starts, 1, BLOCK, [(0, 0, 0)], keys, 9, 31, starts)
    assert starts.tolist() == [0, *[n - 3] * 4, *[n - 1] * 3, n, n, n]


def test_rows_are_shuffled_and_summed_behind_many_others():
    starts = np.array([0, 17, 17, 40]) + MANY - 40
    where = sparse(MANY, U32)
    numbers = np.arange(3, dtype=U32)
    run_blocks(prepare.shuffle_rows, 3, BLOCK, [(row, 0, 0) for row in range(3)], starts, numbers, U32(9), where)
    assert sorted(where[-40:-23]) == list(range(MANY - 40, MANY - 23))
    assert sorted(where[-23:]) == list(range(MANY - 23, MANY))
    others, codes = with_tail(MANY - 40, np.arange(40, dtype=np.int32)), with_tail(MANY - 1, np.array([3], np.uint8))
    z, bias, found = np.arange(256, dtype=np.float32), np.arange(40) / 8, np.full(3, np.nan)
    run_blocks(
        prepare.residual_means, 3, BLOCK, [(row, 0, 0) for row in range(3)], starts, others, codes, z, bias, 1.0, found
    )
    np.testing.assert_allclose(found, [-bias[:17].sum() / 18, 0, (3 - bias[17:].sum()) / 24])


def test_ratings_are_laid_out():
    where = with_tail(MANY - 3, np.array([MANY - 1, MANY - 3, MANY - 2], U32))
    others, codes = (
        with_tail(MANY - 3, np.array([5, 6, 7], np.int32)),
        with_tail(MANY - 3, np.array([1, 2, 3], np.uint8)),
    )
    z, minor, values = np.arange(256, dtype=np.float32), sparse(MANY, np.int32), sparse(MANY, np.float32)
    run_last(prepare.lay_out, MANY, BLOCK, where, others, codes, z, minor, values)
    assert minor[-3:].tolist() == [6, 7, 5] and values[-3:].tolist() == [2, 3, 1]
    places = with_tail(MANY - 3, np.array([MANY - 2, MANY - 1, MANY - 3], U32))
    ratings, spread = with_tail(MANY - 3, np.array([4, 5, 6], np.float32)), (np.float32(1), np.float32(2))
    run_last(prepare.lay_out_values, MANY, BLOCK, where, places, ratings, *spread, values)
    assert values[-3:].tolist() == [2.5, 1.5, 2]
    out = sparse(MANY, U32)
    run_last(prepare.follow, MANY, BLOCK, where, places, out)
    assert out[-3:].tolist() == [MANY - 3, MANY - 2, MANY - 1]
    run_last(prepare.count_up, MANY, BLOCK, out)
    assert out[-2:].tolist() == [MANY - 2, MANY - 1]
    run_last(prepare.raise_codes, MANY, BLOCK, codes, codes)
    assert codes[-3:].tolist() == [2, 3, 4]


def test_pairs_and_errors():
    users, items = (with_tail(MANY - 2, np.array(tail, np.int32)) for tail in ([5, 2**31 - 1], [2**31 - 1, 6]))
    keys = sparse(MANY, np.uint64)
    run_last(prepare.pack_pairs, MANY, BLOCK, users, items, keys)
    assert keys[-2:].tolist() == [5 << 32 | 2**31 - 1, (2**31 - 1) << 32 | 6]
    run_last(prepare.items_of, MANY, BLOCK, keys, items)
    assert items[-2:].tolist() == [2**31 - 1, 6]
    places = np.array([2, 0, 1], np.int32)
    minor = with_tail(MANY - 3, np.array([1, 2, 1], np.int32))
    run_last(prepare.follow, MANY, BLOCK, places, minor, minor)
    assert minor[-4:].tolist() == [2, 0, 1, 0]
    predicted, truth = with_tail(MANY - 1, np.array([3], np.float32)), with_tail(MANY - 1, np.array([1], np.float32))
    blocks, units = -(-MANY // BLOCK), tuple(map(np.float32, (1, 0, -9, 9)))
    sums = sparse((blocks, 2), np.float64)
    run_last(prepare.error_sums, MANY, BLOCK, predicted, truth, *units, sums)
    assert sums[-1].tolist() == [4, 2]


def test_a_sample_of_ratings():
    """To the last of the sampled ones."""
    lanes, every, table = 8, 1 << 12, np.ones((2, 32 + EXTRA), np.float32)
    apart = RUN * every
    last = (MANY - 1) // apart * apart + min(RUN, (MANY - 1) % apart + 1) - 1
    minor, count = sparse(MANY, np.int32), MANY // apart * RUN + min(RUN, MANY % apart)
    minor[last] = 1
    run_last(make_grow_rows(lanes, 4, False, False), count * lanes, BLOCK, minor, every, np.float32(0.5), table)
    np.testing.assert_array_equal(table[1], [1.5] * 34 + [1] * 6)


def test_parameter_tables():
    """More than 2**32 factors: rows are initialized by their numbers, moved and read."""
    rows, width = 2**25 + 3, 128
    table, seed_key = sparse((rows + 1, width + EXTRA), np.float32), U32(key(4, 104))
    base, numbers = with_tail(rows - 2, np.array([0.5, -0.25])), with_tail(rows - 2, U32([2**31 + 5, 7]))
    arguments = seed_key, numbers, base, True, width, table, table
    run_last(prepare.start_rows, (rows + 1) * BLOCK, BLOCK, *arguments, blocks=3)
    for row in (rows - 2, rows - 1):
        expected = [first_factor(seed_key, np.uint64(int(numbers[row]) * width + f)) for f in range(width)]
        np.testing.assert_array_equal(table[row, :width], np.array(expected, np.float32))
        assert table[row, width + BASE] == base[row]
    assert not table[rows].any() and table[rows - 2, 0] != table[rows - 1, 0]
    places = with_tail(rows - 2, np.array([rows - 1, rows - 2, rows], np.int32))
    moved, back = sparse(table.shape, np.float32), sparse(table.shape, np.float32)
    run_last(prepare.move_rows, (rows + 1) * BLOCK, BLOCK, table, places, moved, blocks=3)
    np.testing.assert_array_equal(moved[-3:], table[[rows - 1, rows - 2, rows]])
    run_last(prepare.take_rows, (rows + 1) * BLOCK, BLOCK, moved, places, back, blocks=3)
    np.testing.assert_array_equal(back[-3:], table[-3:])
    factors, extras = sparse((rows, width), np.float32), sparse((rows, 3), np.float32)
    run_last(prepare.read_rows, rows * BLOCK, BLOCK, table, table, factors, extras)
    np.testing.assert_array_equal(factors[-1], table[rows - 1, :width])
    np.testing.assert_array_equal(extras[-1], table[rows - 1, width : width + 3])


def test_neighbours_and_orders_of_rows():
    items, slots = 2**27 + 3, 32
    neighbors, base = (
        with_tail(items - 1, np.full((1, slots), items - 1, np.int32)),
        with_tail(items - 1, np.array([2.0])),
    )
    near, offsets = sparse((items + 1, slots), np.int32), sparse((items + 1, slots), np.float32)
    run_last(prepare.pack_near, near.size, BLOCK, neighbors, base, near, offsets, blocks=2)
    assert (near[-2:] == [[items - 1], [-1]]).all() and (offsets[-2:] == [[2], [0]]).all()
    rows = 2**31 - 1
    order, places = with_tail(rows - 1, np.array([rows - 1], U32)), sparse(rows + 1, np.int32)
    run_last(prepare.spread_rows, rows + 1, BLOCK, order, 100, places)
    assert places[rows] == rows and places[rows - 1] == (rows - 1) * 100 % rows
    starts, keys = sparse(rows + 1, np.int64), sparse(rows, np.uint64)
    starts[-2:], numbers = [2**32 - 9, 2**32 - 2], sparse(rows, U32)
    run_last(prepare.count_keys, rows, BLOCK, starts, 2**32, keys, numbers)
    assert keys[-1] == 2**32 - 7 and numbers[-1] == rows - 1
