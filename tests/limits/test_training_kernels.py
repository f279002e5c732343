"""Training, codes and scores for ratings beyond 2**31 and tables of more than 2**32 numbers."""

import numpy as np
import pytest
from factorization.inputs import (
    TURN,
    assert_same_tables,
    code_lines,
    history,
    lanes_layout,
    pack,
    problem,
    query,
    rates,
    tables_of,
    walk,
)

from limits.sparse import run_last, sparse, with_tail

pytestmark = [pytest.mark.kernel, pytest.mark.simulator, pytest.mark.filterwarnings("ignore:overflow encountered")]

from cudasim import run_blocks
from gpukit.factorization.arrays import Tables
from gpukit.factorization.kernels import fill_tables, neighbor_codes, score_rows
from gpukit.factorization.solvers.sgd import kernels as chunks
from gpukit.factorization.solvers.sgd.kernels import make_sgd_epoch
from gpukit.random import key

FAR = 2**32 - 99  # position of the first rating
U32 = np.uint32


def test_an_epoch_over_ratings_far_back():
    case, layout = problem(5, 3, shape=(4, 12), n_ratings=30), lanes_layout(5, 3, 8)
    trail, outcomes = walk(case), []
    epoch = make_sgd_epoch(layout.lanes, layout.factors, layout.near, False, False)
    batch = trail.batch(code_lines(case, layout, trail.pairs).view(U32))
    there = batch._replace(**{name: with_tail(FAR, getattr(batch, name)) for name in ("minor", "values", "codes")})
    moved = trail.chunks + [0, FAR, 0]
    for table, one in ((trail.chunks, batch), (moved, there)):
        parameters, _ = pack(case, layout)
        run_blocks(epoch, 1, 32, [(0, 0, 0)], table, one, parameters, rates(), TURN, 1)
        outcomes.append(parameters)
    for near, far in zip(*outcomes):
        np.testing.assert_array_equal(far, near)
    assert not np.array_equal(outcomes[0].P, pack(case, layout)[0].P)


def test_codes_of_ratings_and_queries_far_back():
    case, layout = problem(2, 5, shape=(9, 33), n_ratings=110), lanes_layout(2, 5, 2)
    pairs = sorted((i, j) for i in range(10) for j in (0, 17, 32, 33))
    rated, lines, near = history(case), query(case, pairs), pack(case, layout)[1]
    rated = rated._replace(
        indptr=rated.indptr + FAR, items=with_tail(FAR, rated.items), codes=with_tail(FAR, rated.codes)
    )
    asked = lines._replace(
        indptr=lines.indptr + FAR, items=with_tail(FAR, lines.items), places=with_tail(FAR, lines.places + U32(FAR))
    )
    out, tables = sparse((FAR + len(pairs), layout.slots), np.uint8), np.zeros((2, 34), np.uint8)
    words = out.view(U32)
    run_blocks(neighbor_codes, 2, 32, [(0, 0, 0), (1, 0, 0)], rated, asked, near, words, tables)
    np.testing.assert_array_equal(out[FAR + lines.places.astype(np.int64)], code_lines(case, layout, pairs))
    users, shape = with_tail(2**27, np.array([3, 0], np.int32)), (2**22 + 1, 34)
    tables = Tables(sparse(shape, U32), sparse((*shape, 32), np.uint8), np.zeros(256, np.float32))
    run_last(fill_tables, 32 * shape[0], 32, users, rated, tables)
    assert_same_tables(Tables(tables.rated[-1:], tables.codes[-1:], tables.levels), tables_of(case, [3, 0]))


def test_scores_of_many_users_for_many_items():
    """The last line of the largest tile, 65,535 users, of 70,000 items."""
    case, layout = problem(3, 2, shape=(4, 12), n_ratings=20, walk="items"), lanes_layout(3, 2, 8)
    (parameters, near), n = pack(case, layout), 70_000
    of_items = {name: with_tail(n - 12, getattr(parameters, name)) for name in ("P", "influence", "offsets")}
    wide, neighbors = parameters._replace(**of_items), with_tail(n - 12, np.where(near < 0, near, near + n - 12))
    table, keys, small = np.full(256, 1.5, np.float32), sparse((65535, n), U32), np.zeros((1, 12), U32)
    seen = tables_of(case, [2])._replace(levels=table)
    run_blocks(score_rows, (1, 1), 32, [(0, 0, 0)], np.array([2]), seen, near, parameters, 3, np.ones(12), 1, small)
    users, shape = with_tail(65534, np.array([2], np.int32)), (2048, n + 1)
    tables = Tables(sparse(shape, U32), sparse((*shape, 32), np.uint8), table)
    tables.rated[-1, n - 12 :] = seen.rated[0, :] << 30
    tables.codes[-1, n - 12 :, 30] = seen.codes[0, :, 0]
    blocks = -(-n // 32)
    places = [(x, 2047, 0) for x in (blocks - 2, blocks - 1)]
    args = users, tables, neighbors, wide, 3, np.ones(n), 1, keys
    run_blocks(score_rows, (blocks, 2048), 32, places, *args)
    np.testing.assert_array_equal(keys[-1, n - 12 :], small[0])


def test_rows_are_cut_behind_many_chunks():
    starts, before = np.array([0, 17, 17, 80]) + FAR, np.array([0, 2, 2, 5]) + 2**31 - 3
    classes, n = np.arange(257, dtype=np.uint64), 2**31 + 2
    table, keys, places = sparse((n, 3), np.int64), sparse(n, np.uint64), sparse(n, U32)
    rows = [(row, 0, 0) for row in range(3)]
    run_blocks(chunks.cut_rows, 3, 32, rows, starts, before, classes, 16, U32(key(1, 2)), table, keys, places)
    pieces = [(0, 0, 8), (0, 8, 9), (2, 17, 21), (2, 38, 21), (2, 59, 21)]
    assert table[-5:].tolist() == [[row, FAR + first, length] for row, first, length in pieces]
    assert (keys[-5:] >> np.uint64(16)).tolist() == [8, 9, 21, 21, 21] and places[-1] == n - 1


def test_quads_beyond_two_to_the_thirty_one():
    quads = 2**29 + 2
    table = with_tail(4 * quads - 4, np.array([[9, 1, 5], [8, 2, 6], [7, 3, 3], [6, 4, 2]]))
    keys, places = sparse(quads, np.uint64), sparse(quads, U32)
    order = with_tail(4 * quads - 4, 4 * quads - 4 + np.arange(4, dtype=U32))
    run_last(chunks.fallen_lengths, quads, 32, table, order, 4 * quads, 256, keys, places)
    assert keys[-2:].tolist() == [256, 250] and places[-1] == quads - 1
    hands, out = sparse((2, quads // 2), U32), sparse(table.shape, np.int64)
    hands[1, -1] = quads - 1
    run_last(chunks.take_quads, 4 * quads, 32, table, order, 4 * quads, hands, out)
    np.testing.assert_array_equal(out[-4:], table[-4:])
    fours = 2**31 + 9
    order, dealt = with_tail(2 * fours - 1, np.array([5], U32)), sparse((2, fours), U32)
    order[fours - 1] = 4
    run_last(chunks.deal_hands, fours, 32, order, U32(1), dealt)
    assert sorted(dealt[:, -1].tolist()) == [0, 4]
    order[fours] = 6
    run_last(chunks.deal_hands, fours, 32, order, U32(1), dealt)
    assert sorted(dealt[:, -1].tolist()) == [4, 6]
