"""The neighbours' alternatives on ratings beyond 2**32 and among many items."""

import numpy as np
import pytest
from neighbors.inputs import columns, ratings

from limits.sparse import sparse, with_tail

pytestmark = [pytest.mark.kernel, pytest.mark.simulator, pytest.mark.filterwarnings("ignore:overflow encountered")]

from cudasim import run_blocks
from gpukit.neighbors import cpu as minhash_cpu
from gpukit.neighbors import hash_kernels as minhash
from gpukit.neighbors import run
from gpukit.neighbors import search_twins as twins
from gpukit.neighbors.cpu import select_pairs
from gpukit.neighbors.plan import Compressed, PairLists, Settings
from gpukit.neighbors.run import direction_keys, hashing_keys, whole_numbers
from gpukit.neighbors.search_kernels import count_pairs, make_list_pairs

FAR, MANY, BLOCK, U32, U64 = 2**32 - 9, 2**26, 32, np.uint32, np.uint64


@pytest.fixture
def table():
    """Columns of four items."""
    return columns(ratings(20, 4, 0.8, [1, 2, 4], seed=3))


@pytest.mark.parametrize("is_clicks", [False, True])
@pytest.mark.parametrize("room, tile", [(20, 0), (2000, -1)])
def test_pairs_of_the_last_items(table, is_clicks, room, tile):
    """By a hash table, and by the last tile."""
    n_items, rows, per_thread, n_rows = MANY + 4, table.by_user, 64, 2**7
    by_item = with_tail(MANY, table.indptr + FAR), with_tail(FAR, table.users), with_tail(FAR, table.levels)
    items = with_tail(FAR, (rows.others + MANY).astype(np.int32))
    by_user = rows.starts + FAR, items, with_tail(FAR, rows.codes)
    numbers = np.empty(0, U32) if is_clicks else whole_numbers(table.values, 20)
    kernel, grid = (
        make_list_pairs(BLOCK, per_thread, not is_clicks),
        (n_rows, -(-n_items // (BLOCK * per_thread))),
    )
    begins, sizes = FAR + room * np.arange(n_rows + 1), np.zeros(n_rows, np.int32)
    entries = sparse(FAR + room * n_rows, U64)
    blocks = [(row, range(grid[1])[tile], 0) for row in range(n_rows - 4, n_rows)]
    lists = PairLists(begins, entries, sizes)
    arguments = Compressed(*by_item), Compressed(*by_user), numbers, n_items - n_rows, lists
    run_blocks(kernel, grid, BLOCK, blocks, *arguments)
    ((_, (expected, keys)),) = select_pairs(table, numbers, 4, [(0, 4)])
    assert (expected >= 0).any()
    for begin, size, own, found in zip(begins[-5:], sizes[-4:], expected, keys):
        listed = np.sort(entries[begin : begin + size])
        assert len(listed) == (own >= 0).sum()
        np.testing.assert_array_equal((listed & U64(2**32 - 1)).astype(int) - MANY, own[:size])
        np.testing.assert_array_equal((listed >> U64(32)).astype(U32), found[:size])


def test_counts_of_pairs_of_the_last_items(table):
    rows, pairs = table.by_user.starts, np.empty(4, np.int64)
    found = sparse(MANY + 4, np.int64)
    by_item = with_tail(MANY, table.indptr + FAR), with_tail(FAR, table.users)
    run_blocks(count_pairs, MANY + 4, BLOCK, [(MANY + j, 0, 0) for j in range(4)], *by_item, rows + FAR, found)
    twins.count_pairs(table.indptr, table.users, rows, pairs)
    np.testing.assert_array_equal(found[-4:], pairs)


def test_minwise_codes_of_the_last_items(table):
    settings = Settings(1, 2, 3, 40)
    codes, starts = sparse((MANY + 4, settings.n_words), U32), with_tail(MANY, table.indptr + FAR)
    blocks = codes.size  # per warp
    users, keys = with_tail(FAR, table.users), hashing_keys(0, 6)
    last = [(block, 0, 0) for block in range(blocks - 4 * settings.n_words, blocks)]
    run_blocks(minhash.hash_minwise, blocks, BLOCK, last, starts, users, keys, settings.n_bits, codes)
    np.testing.assert_array_equal(codes[-4:], run.minhash_codes(minhash_cpu, table, settings))


def test_projections_of_the_last_items(table):
    settings, slots = Settings(1, 1, 4, 8), 2**27
    units, joins, n_slots = run.work_units(table.indptr, 7)
    units += [MANY, FAR, FAR, 0]
    units[:, 3] = np.where(units[:, 3] < 0, -1, units[:, 3] + slots)
    codes, partials = sparse((MANY + 4, 1), U32), sparse((slots + n_slots, 32), np.int64)
    users, levels = with_tail(FAR, table.users), with_tail(FAR, table.levels)
    keys, weights = direction_keys(0, 32), run.level_weights(table.values, 1)
    blocks = [(unit, 0, 0) for unit in range(len(units))]
    arrays = users, levels, weights, keys, units, codes, partials
    run_blocks(minhash.project_columns, (len(units), 1), BLOCK, blocks, *arrays)
    blocks = [(join, 0, 0) for join in range(len(joins))]
    run_blocks(minhash.join_parts, (len(joins), 1), BLOCK, blocks, joins + [MANY, slots, slots], partials, codes)
    np.testing.assert_array_equal(codes[-4:], run.projection_codes(minhash_cpu, table, settings))
    assert len(joins) > 1
