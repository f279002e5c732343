"""Partition of users over ranks and of items over blocks.

Each occurs once, with about equal ratings.
"""

import numpy as np
import pytest

from factorization.shared.data import generated, ratings
from gpukit.errors import DataError
from gpukit.factorization import cpu as preparing
from gpukit.factorization.prepare.training_data import PreparationOptions
from gpukit.factorization.shared.partition import parts_of


@pytest.mark.parametrize("walk", ["users", "items"])
@pytest.mark.parametrize("deterministic", [False, True])
@pytest.mark.parametrize("size", [2, 3])
def test_parts_are_even(walk, deterministic, size):
    table, _ = generated(0.01)
    parts = parts_of(table, size, PreparationOptions(walk, 1, deterministic, False), preparing)
    counts = np.bincount(parts.owner[table.users], minlength=size)
    blocks = np.bincount(parts.block[table.items])
    assert counts.sum() == len(table) and len(blocks) == parts.blocks
    if not deterministic:
        assert counts.max() < 1.1 * counts.min() and blocks.max() < 1.2 * blocks.min()
        assert parts.blocks == (1 if walk == "users" else size)  # one block if rows are copied
    if walk == "users":  # popular items first
        order = parts.order_of_minor(walk)
        popular = np.bincount(table.items, minlength=table.shape[1])[order]
        assert (np.diff(popular) <= 0).all() and sorted(order) == list(range(table.shape[1]))
    assert sorted(np.concatenate([parts.rows(block) for block in range(parts.blocks)])) == list(range(table.shape[1]))


def test_too_few_ratings():
    with pytest.raises(DataError, match="too few for 3 ranks"):
        parts_of(ratings(shape=(2, 400)), 3, PreparationOptions("users", 0, False, False), preparing)


@pytest.mark.parametrize("items, size, fails", [(2, 4, True), (3, 4, True), (4, 4, False), (2, 2, False)])
def test_fewer_items_than_blocks(items, size, fails):
    """LSHMF, whose items' blocks are in a ring.

    Each rank processes one at a time.
    """
    table, way = ratings(n=60, shape=(40, items)), PreparationOptions("items", 1, False, False)
    if fails:
        with pytest.raises(DataError, match=f"and {items} items are too few for {size} ranks"):
            parts_of(table, size, way, preparing)
    else:
        assert parts_of(table, size, way, preparing).blocks == size


@pytest.mark.parametrize("walk", ["users", "items"])
@pytest.mark.parametrize("size, owning", [(2, {0, 1}), (3, {0, 1}), (4, {0, 2}), (5, {0, 2})])
def test_ranks_beyond_the_blocks_of_strata_own_none(walk, size, owning):
    """The blocks are those of one process; the first rank has one.

    The first rank also evaluates unknown users.
    """
    table, _ = generated(0.004)
    way = PreparationOptions(walk, 1, True, False)
    alone, parts = (parts_of(table, ranks, way, preparing) for ranks in (1, size))
    assert parts.blocks == alone.blocks == 2 and set(parts.owner) == set(parts.schedule.owners) == owning
    np.testing.assert_array_equal(parts.assignment.seat, alone.assignment.seat)
    np.testing.assert_array_equal(parts.block, alone.block)
    mine = [parts.users_of(rank) for rank in range(size)]
    for rank, users in enumerate(mine):
        rows = parts.rows_on(rank)
        assert rows[users].tolist() == list(range(len(users))) and rows[-1] == len(users)  # the last: unknown users
    assert [len(users) > 0 for users in mine] == [rank in owning for rank in range(size)]
    assert sorted(np.concatenate(mine)) == list(range(table.shape[0]))
