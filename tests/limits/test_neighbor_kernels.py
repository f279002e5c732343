"""The neighbours' alternatives on ratings beyond 2**32 and among many items."""

import numpy as np
import pytest
from neighbors.inputs import columns, ratings

from limits.sparse import sparse, with_tail

pytestmark = [pytest.mark.kernel, pytest.mark.simulator, pytest.mark.filterwarnings("ignore:overflow encountered")]

from cudasim import run_blocks
from gpukit.neighbors.hashes import cpu as minhash_cpu
from gpukit.neighbors.hashes import kernels as minhash
from gpukit.neighbors.hashes import plan
from gpukit.neighbors.hashes.plan import direction_keys, hashing_keys
from gpukit.neighbors.plan import Items, Settings
from gpukit.neighbors.search.exact import cpu as exact_cpu
from gpukit.neighbors.search.exact import kernels as exact
from gpukit.neighbors.search.exact.plan import whole_numbers

FAR, MANY, BLOCK, U32 = 2**32 - 9, 2**26, 32, np.uint32


@pytest.fixture
def table():
    """Columns of four items."""
    return columns(ratings(20, 4, 0.8, [1, 2, 4], seed=3))


def test_distances_of_the_last_items(table):
    n_items, rows = MANY + 4, table.by_user
    by_item = with_tail(MANY, table.indptr + FAR), with_tail(FAR, table.users), with_tail(FAR, table.levels)
    items = with_tail(FAR, (rows.others + MANY).astype(np.int32))
    by_user = rows.starts + FAR, items, with_tail(FAR, rows.codes)
    keys, near = sparse((2**7, n_items), U32), np.empty((4, 4), U32)
    grid, kernel = (-(-n_items // BLOCK), 2**7), exact.make_pair_distances(BLOCK, 1)
    numbers = whole_numbers(table.values, 20)
    blocks = [(grid[0] - 1, row, 0) for row in range(124, 128)]
    run_blocks(kernel, grid, BLOCK, blocks, *by_item, *by_user, numbers, n_items - 128, keys)
    exact_cpu.stripes(Items(table, None, None), Settings(1, search="exact"))(0, near)
    np.testing.assert_array_equal(keys[-4:, -4:], near)
    assert (near < 2**31).any()


def test_minwise_codes_of_the_last_items(table):
    settings = Settings(1, 2, 3, 40)
    codes, starts = sparse((MANY + 4, settings.n_words), U32), with_tail(MANY, table.indptr + FAR)
    blocks = codes.size  # per warp
    users, keys = with_tail(FAR, table.users), hashing_keys(0, 6)
    last = [(block, 0, 0) for block in range(blocks - 4 * settings.n_words, blocks)]
    run_blocks(minhash.hash_minwise, blocks, BLOCK, last, starts, users, keys, settings.n_bits, codes)
    np.testing.assert_array_equal(codes[-4:], minhash_cpu.minhash_codes(table, settings))


def test_projections_of_the_last_items(table):
    settings, slots = Settings(1, 1, 4, 8), 2**27
    units, joins, n_slots = plan.work_units(table.indptr, 7)
    units += [MANY, FAR, FAR, 0]
    units[:, 3] = np.where(units[:, 3] < 0, -1, units[:, 3] + slots)
    codes, partials = sparse((MANY + 4, 1), U32), sparse((slots + n_slots, 32), np.int64)
    users, levels = with_tail(FAR, table.users), with_tail(FAR, table.levels)
    keys, weights = direction_keys(0, 32), plan.level_weights(table.values, 1)
    blocks = [(unit, 0, 0) for unit in range(len(units))]
    arrays = users, levels, weights, keys, units, codes, partials
    run_blocks(minhash.project_columns, (len(units), 1), BLOCK, blocks, *arrays)
    blocks = [(join, 0, 0) for join in range(len(joins))]
    run_blocks(minhash.join_parts, (len(joins), 1), BLOCK, blocks, joins + [MANY, slots, slots], partials, codes)
    np.testing.assert_array_equal(codes[-4:], minhash_cpu.projection_codes(table, settings))
    assert len(joins) > 1
