"""Compiled twins on ratings and keys beyond 2**31 and 2**32, except loops over all of them."""

import numpy as np
from factorization.inputs import (
    TURN,
    assert_same_tables,
    code_lines,
    empty_tables,
    history,
    lanes_layout,
    pack,
    problem,
    query,
    rates,
    tables_of,
    walk,
)
from neighbors.inputs import columns, ratings

from gpukit.factorization import twins as scores
from gpukit.factorization.prepare import twins as prepare
from gpukit.factorization.solvers.sgd import twins as chunks
from gpukit.factorization.solvers.sgd import twins as sgd
from gpukit.neighbors import hash_twins as simlsh
from gpukit.neighbors import run
from gpukit.random import key
from gpukit.sorting import twins as sorting
from limits.sparse import sparse, with_tail

FAR = 2**32 - 99  # position of the first rating
U32 = np.uint32


def test_rows_are_shuffled_and_summed():
    starts, where = np.array([0, 17, 17, 40]) + FAR, sparse(FAR + 40, U32)
    prepare.shuffle_rows(starts, np.arange(3, dtype=U32), U32(9), where)
    assert sorted(where[-40:-23]) == list(range(FAR, FAR + 17))
    assert sorted(where[-23:]) == list(range(FAR + 17, FAR + 40))
    others, levels = with_tail(FAR, np.arange(40, dtype=np.int32)), with_tail(FAR + 39, np.array([3], np.uint8))
    z, bias, found = np.arange(256, dtype=np.float32), np.arange(40) / 8, np.full(3, np.nan)
    prepare.residual_means(starts, others, levels, z, bias, 1.0, found)
    np.testing.assert_allclose(found, [-bias[:17].sum() / 18, 0, (3 - bias[17:].sum()) / 24])


def test_rows_are_cut():
    starts, before, n = np.array([0, 17, 17, 80]) + FAR, np.array([0, 2, 2, 5]) + 2**31 - 3, 2**31 + 2
    table, keys, places = sparse((n, 3), np.int64), sparse(n, np.uint64), sparse(n, U32)
    chunks.cut_rows(starts, before, np.arange(257, dtype=np.uint64), 16, U32(key(1, 2)), table, keys, places)
    pieces = [(0, 0, 8), (0, 8, 9), (2, 17, 21), (2, 38, 21), (2, 59, 21)]
    assert table[-5:].tolist() == [[row, FAR + first, length] for row, first, length in pieces]
    assert (keys[-5:] >> np.uint64(16)).tolist() == [8, 9, 21, 21, 21] and places[-1] == n - 1


def test_an_epoch():
    case, layout = problem(5, 3, shape=(4, 12), n_ratings=30), lanes_layout(5, 3, 2)
    trail, outcomes = walk(case), []
    batch = trail.batch(code_lines(case, layout, trail.pairs))
    there = batch._replace(**{name: with_tail(FAR, getattr(batch, name)) for name in ("minor", "values", "codes")})
    for table, one in ((trail.chunks, batch), (trail.chunks + [0, FAR, 0], there)):
        parameters, _ = pack(case, layout)
        sgd.sgd_epoch(table, one, parameters, rates(), TURN, 1)
        outcomes.append(parameters)
    for near, far in zip(*outcomes):
        np.testing.assert_array_equal(far, near)


def test_codes_and_tables_of_ratings():
    case, layout = problem(2, 5, shape=(9, 33), n_ratings=110), lanes_layout(2, 5, 2)
    pairs = sorted((i, j) for i in range(10) for j in (0, 17, 32, 33))
    rated, lines, near = history(case), query(case, pairs), pack(case, layout)[1]
    rated = rated._replace(
        indptr=rated.indptr + FAR, items=with_tail(FAR, rated.items), codes=with_tail(FAR, rated.codes)
    )
    places = with_tail(FAR, lines.places + U32(FAR))
    asked = lines._replace(indptr=lines.indptr + FAR, items=with_tail(FAR, lines.items), places=places)
    out, tables = sparse((FAR + len(pairs), layout.slots), np.uint8), np.zeros((2, 34), np.uint8)
    scores.neighbor_codes(rated, asked, near, out, tables)
    np.testing.assert_array_equal(out[FAR + lines.places.astype(np.int64)], code_lines(case, layout, pairs))
    tables = empty_tables(2, 33)
    scores.fill_tables(np.array([3, 0], np.int32), rated, tables)
    assert_same_tables(tables, tables_of(case, [3, 0]))


def test_codes_of_items():
    table, made = columns(ratings(20, 4, 0.8, [1, 2, 4], seed=3)), []
    weights, keys = run.level_weights(table.values, 2), run.word_keys(1, 33)
    for offset, items in ((0, 0), (2**32 + 9, 2**27)):
        units, _, _ = run.work_units(table.indptr + offset)
        found = sparse((items + 4, 33), U32)
        partials, totals = np.zeros((1, 32, 33), U32), np.zeros(1, np.int64)
        users, levels = with_tail(offset, table.users), with_tail(offset, table.levels)
        units[:, 0] += items
        simlsh.hash_columns(users, levels, weights, keys, units, 32 * 33, found, partials, totals)
        made.append(found[items:])
    np.testing.assert_array_equal(made[1], made[0])
    assert made[0].any()


def test_segments():
    first, sizes = 2**32 + 7, [5, 0, 40, 300]
    offsets = first + np.concatenate([[0], np.cumsum(sizes)])
    tail = np.random.default_rng(1).normal(size=sum(sizes)).astype(np.float32)
    keys, order = with_tail(first, tail), sparse(first + sum(sizes), np.int32)
    sorting.argsort_segments(keys, offsets, order)
    for begin, end in zip(offsets[:-1], offsets[1:]):
        np.testing.assert_array_equal(order[begin:end], np.argsort(keys[begin:end], kind="stable"))
