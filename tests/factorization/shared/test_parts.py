"""Users over ranks and items over blocks: everybody once, about as many ratings each."""

import numpy as np
import pytest

from factorization.shared.data import generated, ratings
from gpukit.errors import DataError
from gpukit.factorization.prepare import cpu as preparing
from gpukit.factorization.prepare.ready import Way
from gpukit.factorization.shared.parts import A_RANK, parts_of


@pytest.mark.parametrize("walk", ["users", "items"])
@pytest.mark.parametrize("deterministic", [False, True])
@pytest.mark.parametrize("size", [2, 3])
def test_parts_are_even(walk, deterministic, size):
    table, _ = generated(0.01)
    parts = parts_of(table, size, Way(walk, 1, deterministic, False), preparing)
    counts = np.bincount(parts.owner[table.users], minlength=size)
    blocks = np.bincount(parts.block[table.items])
    assert counts.sum() == len(table) and len(blocks) == parts.blocks
    if not deterministic:
        assert counts.max() < 1.1 * counts.min() and blocks.max() < 1.2 * blocks.min()
        assert parts.blocks == max(1, A_RANK[walk] * size)  # one where rows are copied
    if walk == "users":  # a block after the other, the popular first
        order = parts.order_of_minor(walk)
        popular = np.bincount(table.items, minlength=table.shape[1])[order]
        assert (np.diff(parts.block[order]) >= 0).all() and sorted(order) == list(range(table.shape[1]))
        assert all((np.diff(popular[parts.block[order] == block]) <= 0).all() for block in range(parts.blocks))
    assert sorted(np.concatenate([parts.rows(block) for block in range(parts.blocks)])) == list(range(table.shape[1]))


def test_too_few_ratings():
    with pytest.raises(DataError, match="too few to be shared out to 3 ranks"):
        parts_of(ratings(shape=(2, 400)), 3, Way("users", 0, False, False), preparing)
    with pytest.raises(DataError, match="too few"):
        parts_of(ratings(), 2, Way("users", 0, True, False), preparing)  # one block is enough for 700 ratings
