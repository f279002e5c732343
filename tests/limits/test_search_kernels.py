"""Further hashes, the exact search, and solvers, on ratings that lie beyond 2**31."""

import numpy as np
import pytest
from factorization.als.inputs import pieces_and_owners, problem, table_of
from neighbors.inputs import columns, ratings

from limits.sparse import sparse, with_tail

pytestmark = [pytest.mark.kernel, pytest.mark.simulator, pytest.mark.filterwarnings("ignore:overflow encountered")]

from cudasim import run_blocks
from gpukit.factorization.solvers.als import plan as als
from gpukit.factorization.solvers.als.kernels.gram import make_gram_of_pieces
from gpukit.factorization.solvers.hogwild.arrays import Samples
from gpukit.factorization.solvers.hogwild.kernels import make_hogwild_epoch, scatter_ratings
from gpukit.neighbors.hashes import work
from gpukit.neighbors.hashes.minhash import kernels as minhash
from gpukit.neighbors.hashes.projection import kernels as projection
from gpukit.neighbors.search.exact import kernels as exact
from gpukit.neighbors.search.exact import plan

FAR = 2**32 - 99  # where the first rating stands
U32 = np.uint32
BLOCK = 32


@pytest.fixture
def table():
    return columns(ratings(20, 4, 0.8, [1, 2, 4], seed=3))


def blocks_of(x, y=1):
    return [(i, j, 0) for i in range(x) for j in range(y)]


def test_codes_by_minwise_hashing(table):
    """The last word of many items."""
    made, keys = [], np.arange(5, dtype=U32)
    for offset in (0, FAR):
        codes = np.zeros((4, 2), U32)
        arrays = table.indptr + offset, with_tail(offset, table.users), keys, 40, codes
        run_blocks(minhash.hash_columns, 8, BLOCK, blocks_of(8), *arrays)
        made.append(codes)
    np.testing.assert_array_equal(made[1], made[0])
    codes = sparse((2**26, 33), U32)
    starts = with_tail(2**26 - 1, np.array([FAR, FAR + 3]))
    grid, users, keys = codes.size // 8, with_tail(FAR, table.users), np.arange(33, dtype=U32)
    run_blocks(minhash.hash_columns, grid, 256, [(grid - 1, 0, 0)], starts, users, keys, 33 * 32, codes)
    assert codes[-1, -8:].all() and not codes[-1, :-8].any()


def test_codes_by_projection(table):
    units, joins, n_slots = work.work_units(table.indptr, 7)
    weights, keys, made = work.level_weights(table.values, 1), np.arange(40, dtype=U32), []
    for offset, items, room in ((0, 0, 0), (FAR, 2**31, 2**26)):
        own = units + [items, offset, offset, 0]
        own[:, 3] = np.where(units[:, 3] < 0, -1, units[:, 3] + room)
        codes, partials = sparse((items + 4, 2), U32), sparse((room + n_slots, 40), np.int64)
        lists = with_tail(offset, table.users), with_tail(offset, table.levels), weights, keys
        grid = len(own), 2
        run_blocks(projection.project_columns, grid, BLOCK, blocks_of(*grid), *lists, own, codes, partials)
        grid = len(joins), 2
        there = joins + [items, room, room]
        run_blocks(projection.join_parts, grid, BLOCK, blocks_of(*grid), there, partials, codes)
        made.append(codes[items:])
    np.testing.assert_array_equal(made[1], made[0])
    assert made[0].any()


def test_exact_distances(table):
    made, numbers = [], plan.whole_numbers(table.values, 20)
    rows, kernel = table.by_user, exact.make_pair_distances(BLOCK, 1)
    for offset in (0, FAR):
        keys = np.zeros((4, 4), U32)
        by_item = table.indptr + offset, with_tail(offset, table.users), with_tail(offset, table.levels)
        by_user = rows.starts + offset, with_tail(offset, rows.others), with_tail(offset, rows.codes)
        run_blocks(kernel, 4, BLOCK, blocks_of(4), *by_item, *by_user, numbers, 0, keys)
        made.append(keys)
    np.testing.assert_array_equal(made[1], made[0])
    assert len(set(made[0].ravel().tolist())) > 2


def test_normal_equations():
    case, shape, made = problem(3, (5, 40)), als.shape_of(3), []
    pieces, _ = pieces_and_owners(case, 30)
    table = table_of(case.V, case.b, 4)
    for offset in (0, FAR):
        grams = np.zeros((len(pieces), 64, shape.tiles), np.float32)
        lists = with_tail(offset, case.minor), with_tail(offset, case.values), table, True, grams
        there, grid = pieces + [0, offset, 0], (len(pieces), shape.groups)
        run_blocks(make_gram_of_pieces(*shape), grid, shape.threads, blocks_of(*grid), there, *lists)
        made.append(grams)
    np.testing.assert_array_equal(made[1], made[0])
    assert made[0].any()


def test_hogwild_epochs():
    rng, n = np.random.default_rng(0), FAR + 40
    tail = rng.integers(0, 4, 40).astype(np.int32), rng.integers(0, 9, 40).astype(np.int32)
    values, made = rng.normal(size=40).astype(np.float32), []
    P, Q = (rng.normal(size=(rows, 40)).astype(np.float32) for rows in (5, 10))
    for offset in (0, FAR):
        own = Samples(*(with_tail(offset, column) for column in (*tail, values)))
        tables, rate = (P.copy(), Q.copy(), P.copy(), Q.copy()), np.float32(0.001)
        batch, workers = (40, 1) if not offset else (offset, 2)  # the second worker's batch is the tail
        epoch = make_hogwild_epoch(1)
        arguments = own, tables, rate, rate, rate, batch, workers
        run_blocks(epoch, workers, BLOCK, [(workers - 1, 0, 0)], *arguments)
        made.append(tables)
    assert all(np.array_equal(near, far) for near, far in zip(*made)) and not np.array_equal(made[0][0], P)
    out = Samples(sparse(n, np.int32), sparse(n, np.int32), sparse(n, np.float32))
    starts, lists = np.array([FAR, FAR + 17, n]), (with_tail(FAR, tail[1]), with_tail(FAR, values))
    run_blocks(scatter_ratings, 2, BLOCK, blocks_of(2), starts, *lists, U32(3), out)
    from gpukit.factorization.prepare.formulas import half_width
    from gpukit.random import shuffled

    for t in (0, 17, 39):
        there = int(shuffled(U32(3), U32(FAR + t), half_width(n), n))
        assert out.minor[there] == tail[1][t] and out.values[there] == values[t] and out.major[there] == (t >= 17)
