"""Neighbours, selections, sorts, rankings, slices and tensors with more than 2**31 or 2**32 numbers."""

import numpy as np
import pytest
from neighbors.inputs import columns, ratings
from ranking import inputs, sessions

from limits.sparse import run_last, sparse, with_tail

pytestmark = [pytest.mark.kernel, pytest.mark.simulator, pytest.mark.filterwarnings("ignore:overflow encountered")]

from cudasim import run_blocks
from gpukit.imputation.spectral import kernels as spectral
from gpukit.neighbors import hash_kernels as simlsh
from gpukit.neighbors import run
from gpukit.neighbors import search_kernels as hamming
from gpukit.neighbors.plan import Lists
from gpukit.ranking.kernels import matrix, pair_sums, rows
from gpukit.ranking.problem import Csr, Partners, Ranks, Sums
from gpukit.selection import kernels as selection
from gpukit.sorting import gpu as sorting_gpu
from gpukit.sorting import kernels as sorting
from gpukit.svt.kernels import bulge_chasing

U32 = np.uint32
BLOCK = 32
DOCUMENTS = 2**31 - 1  # the limit of RankSVM


def test_codes_of_ratings_far_back_and_of_many_items():
    """Whole and divided columns have the codes that they have at the start."""
    table, made, words, slots = columns(ratings(20, 4, 0.8, [1, 2, 4], seed=3)), [], 33, 2**22
    units, joins, n_slots = run.work_units(table.indptr, 7)
    weights, keys = run.level_weights(table.values, 2), run.word_keys(1, words)
    for offset, items, room in ((0, 0, 0), (2**32 - 9, 2**27, slots)):
        own = units + [items, offset, offset, 0]
        own[:, 3] = np.where(units[:, 3] < 0, -1, units[:, 3] + room)
        codes = sparse((items + 4, words), U32)
        partials, totals = sparse((room + n_slots, 32, words), U32), sparse(room + n_slots, np.int64)
        users, levels = with_tail(offset, table.users), with_tail(offset, table.levels)
        arrays, blocks = (users, levels, weights, keys), [(unit, y, 0) for unit in range(len(own)) for y in (0, 1)]
        hashing = simlsh.make_hash_columns(BLOCK, 32)
        run_blocks(hashing, (len(own), 2), BLOCK, blocks, *arrays, own, 32 * words, codes, partials, totals)
        blocks = [(join, y, 0) for join in range(len(joins)) for y in (0, 1)]
        there = joins + [items, room, room]
        joining = simlsh.make_join_chunks(BLOCK, 32)
        run_blocks(joining, (len(joins), 2), BLOCK, blocks, there, 32 * words, partials, totals, codes)
        made.append(codes[items:])
    np.testing.assert_array_equal(made[1], made[0])
    assert made[0].any(axis=1).all()


def test_distances_of_the_last_items():
    items, words = 2**26 + 70, 64
    tail = np.random.default_rng(0).integers(0, 2**32, (3, words), dtype=U32)
    codes, rated, keys = (
        with_tail(items - 3, tail),
        with_tail(items - 3, np.ones(3, np.uint8)),
        sparse((64, items), U32),
    )
    grid = -(-items // hamming.TILE), 1
    run_blocks(hamming.hamming_distances, grid, 256, [(grid[0] - 1, 0, 0)], codes, rated, items - 64, keys)
    bits = np.unpackbits(tail.view(np.uint8), axis=1).astype(int)
    expected = (bits[:, None] != bits[None]).sum(axis=2).astype(np.int64)
    expected[np.diag_indices(3)] = 2**32 - 1
    np.testing.assert_array_equal(keys[-3:, -3:], expected)


def test_tables_of_many_items():
    items, q, last = 2**26 + 3, 70, 69
    codes, rated = sparse((items, 70), U32), with_tail(items - 3, np.ones(3, np.uint8))
    codes[-3:, last] = [7, 8, 7]
    hashes, mates, keys = sparse((q, items), np.float32), sparse((q, items), np.int32), sparse((3, items), U32)
    hashes[last, : -BLOCK - 1 : -1] = 0
    blocks = -(-items // BLOCK)
    run_blocks(hamming.table_hashes, q * blocks, BLOCK, [(q * blocks - 1, 0, 0)], codes, rated, 32, hashes)
    assert hashes[last, -1] == hashes[last, -3] != hashes[last, -2] and (hashes[last, -3:] > 0).all()
    hashes[last, :-3] = 0  # as far as it was accessed
    order = np.argsort(hashes[last, -3:], kind="stable")
    mates[last, -3:] = items - 3 + order
    grid = q * -(-8 * 3 // BLOCK)
    run_last(hamming.fill, keys.size, BLOCK, keys.ravel(), 9, blocks=1)
    assert (keys[-1, -3:] == 9).all()
    keys[:, -3:] = 9
    run_blocks(hamming.bucket_matches, grid, BLOCK, [(last, 0, 0)], codes, rated, 32, hashes, mates, items - 3, keys)
    assert keys[:, -3:].tolist() == [[9, 9, 8], [9, 9, 9], [8, 9, 9]]


def test_lists_of_many_items():
    items, k = 2**27 + 2, 33
    indices, values = sparse((3, k), np.int32), np.full((3, k), 5, U32)
    indices[2, :2], values[2, :2], values[2, 2:] = [7, items - 2], 1, 9
    lists = sparse((items, k), np.int32), sparse((items, k), np.float32), sparse(items, np.int32)
    run_blocks(hamming.fill_slots, 1, BLOCK, [(0, 0, 0)], indices, values, items - 3, 9, U32(1), 14, Lists(*lists))
    assert lists[0][-1, :2].tolist() == [7, items - 2] and lists[2][-1] == k - 2
    own = lists[0][-1].tolist()
    assert len(set(own)) == k and items - 1 not in own and max(own) < items
    assert lists[1][-1, 0] > 0 and np.isnan(lists[1][-1, 2:]).all()


def test_selection_from_many_rows():
    n, k, last = 33, 3, 2**27
    keys, indices, values = sparse((last + 1, n), U32), sparse((last + 1, k), np.int32), sparse((last + 1, k), U32)
    keys[last] = np.random.default_rng(0).permutation(n) + 2**31
    run_blocks(selection.select_smallest, last + 1, 256, [(last, 0, 0)], keys, U32(2**32 - 1), indices, values)
    np.testing.assert_array_equal(indices[last], np.argsort(keys[last])[:k])
    np.testing.assert_array_equal(values[last], 2**31 + np.arange(k))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_segments_far_back(dtype):
    """Few lanes, a block and quicksort."""
    first, sizes = 2**32 + 7, [5, 0, 40, 300]
    offsets = first + np.concatenate([[0], np.cumsum(sizes)])
    tail = np.random.default_rng(1).normal(size=sum(sizes)).astype(dtype)
    keys, order = with_tail(first, tail), sparse(first + sum(sizes), np.int32)
    segments, queue, room = sorting_gpu.work(offsets, BLOCK)
    buffers = np.zeros((2, max(room, 1)), np.uint64), np.zeros((2, max(room, 1)), U32)
    kernel, blocks = (
        sorting.make_argsort(dtype == np.float32, BLOCK, False),
        [(block, 0, 0) for block in range(len(queue))],
    )
    run_blocks(kernel, len(queue), BLOCK, blocks, keys, offsets, order, U32(5), segments, queue, *buffers)
    for begin, end in zip(offsets[:-1], offsets[1:]):
        np.testing.assert_array_equal(order[begin:end], np.argsort(keys[begin:end], kind="stable"))
    keys[-2:], found = np.nan, np.array([len(keys)])
    run_last(sorting.first_nan, len(keys), BLOCK, keys, found)
    assert found[0] == len(keys) - 2


@pytest.fixture
def tree():
    """Return (Ranks, documents, order, scores by rank, scores) of two queries at the end of the largest number of
    documents.

    Also of the same two alone; all before them is one more query.
    """
    at = inputs.queries([9, 6], 3, "margins", seed=1)
    made = sessions.problem_of(at, None, 3).tree
    first = DOCUMENTS - 15
    alone = sessions.ranks_of(made)
    far = Ranks(
        with_tail(first, made.query + 1),
        with_tail(first, made.rank_level),
        np.append(0, made.first_group + 1),
        np.append(0, made.group_starts.astype(np.int64) + first).astype(np.int32),
    )
    keys, order = np.empty(15), np.empty(15, np.int32)
    keys[made.place] = at.s
    for begin, end in zip(made.group_starts[:-1], made.group_starts[1:]):
        order[begin:end] = np.argsort(keys[begin:end], kind="stable")
    return first, made, alone, far, keys, order


def test_partners_of_the_last_documents(tree):
    first, made, alone, far, keys, order = tree
    outcomes = []
    for begin, ranks in ((0, alone), (first, far)):
        l = begin + 15
        tables, counts = sparse((1, 5, l), np.int32), sparse((2, l), np.int32)
        values, following = sparse(l, np.float64), sparse(l, np.float64)
        lists = with_tail(begin, order), with_tail(begin, keys), ranks, with_tail(begin, made.documents)
        run_last(pair_sums.start_planes, l, BLOCK, *lists, tables, values)
        values[:begin][-40:] = 0
        run_last(pair_sums.search_plane, l, BLOCK, 0, 1, ranks, Partners(tables, counts), values, following)
        outcomes.append((tables[:, :, begin:], counts[:, begin:], values[begin:]))
    for alone_made, far_made in zip(*outcomes):
        np.testing.assert_array_equal(far_made, alone_made)
    assert outcomes[0][1].any()
    pulls, expected, weights = sparse(DOCUMENTS, np.float64), np.empty(15), np.array([1.5, 0.5])
    offsets = np.append(0, made.offsets.astype(np.int64) + first).astype(np.int32)
    run_last(matrix.pair_pulls, 15, BLOCK, alone, made.level, made.offsets, weights, expected)
    level = with_tail(first, made.level)
    run_last(matrix.pair_pulls, DOCUMENTS, BLOCK, far, level, offsets, np.append(1, weights), pulls)
    np.testing.assert_array_equal(pulls[-15:], expected)


def test_products_with_the_last_documents():
    l, tail = DOCUMENTS, np.random.default_rng(2).normal(size=(3, 4)).astype(np.float32)
    X, w, scores = with_tail(l - 3, tail), np.arange(1.0, 5), sparse(l, np.float64)
    grid = -(-l * 4 // rows.THREADS)
    run_blocks(matrix.make_document_scores(4, 1), grid, rows.THREADS, [(grid - 1, 0, 0)], X, w, scores)
    np.testing.assert_allclose(scores[-3:], tail.astype(np.float64) @ w, rtol=1e-12)
    z, partial = with_tail(l - 3, np.array([1.0, 2, 3])), sparse((grid, 4), np.float64)
    run_blocks(matrix.make_transposed_product(4, 1), grid, rows.THREADS, [(grid - 1, 0, 0)], X, z, partial)
    np.testing.assert_allclose(partial[-1], tail.astype(np.float64).T @ [1, 2, 3], rtol=1e-12)
    keys = sparse(l, np.float64)
    run_last(matrix.by_rank, l, BLOCK, scores, with_tail(l - 2, np.array([l - 1, l - 2], np.int32)), keys)
    assert keys[-2:].tolist() == scores[-1:-3:-1].tolist()
    ones = Sums(*(with_tail(l - 1, np.array([number])) for number in (3.0, 2.0)))
    zeros, weights, loss = Sums(sparse(l, np.float64), sparse(l, np.float64)), with_tail(l - 1, np.array([2.0])), keys
    run_last(pair_sums.combine, l, BLOCK, scores, 1.0, ones, zeros, weights, z, loss)
    assert z[-1] == pytest.approx(2 * (5 * scores[-1] + 1))
    padded = sparse((l, 8), np.float32)
    run_last(matrix.pad_rows, padded.size, BLOCK, X, padded, blocks=1)
    np.testing.assert_array_equal(padded[-1, :4], X[-1])


def test_sparse_products_and_means_far_back():
    count, nnz = 2**28, 2**32 + 5
    indptr, values = with_tail(count - 1, np.array([nnz - 3, nnz])), with_tail(nnz - 3, np.array([1.0, 2, 3]))
    indices = with_tail(nnz - 3, np.array([0, 2, 1], np.int32))
    indptr[-10:-2], out = nnz - 3, sparse(count, np.float64)
    run_last(matrix.csr_product, 32 * count, 256, Csr(indptr, indices, values), np.array([1.0, 10, 100]), out)
    assert out[-1] == 1 + 200 + 30
    l, offsets = DOCUMENTS, np.array([0, DOCUMENTS - 2, DOCUMENTS], np.int32)
    X, pulls, means = (
        with_tail(l - 2, np.array([[1.0, 2], [3, 6]])),
        with_tail(l - 2, np.array([1.0, 3])),
        np.zeros((2, 2)),
    )
    run_blocks(matrix.query_means, 2, BLOCK, [(1, 0, 0)], X, offsets, pulls, means)
    assert means[1].tolist() == [2.5, 5]


def test_numbers_of_tensors_and_slices():
    n = 2**32 + 9
    now, before = with_tail(n - 2, np.array([1.0, 2], np.float32)), with_tail(n - 2, np.array([3.0, 5], np.float32))
    run_last(spectral.extrapolate, n, BLOCK, now, before, np.float32(0.5))
    assert before[-2:].tolist() == [0, 0.5]
    shape = 3, 2**31
    new, now, before = (sparse((3, columns), np.float32) for columns in (2**31 - 1, 2**31, 2**31))
    hidden, grid = sparse(shape, bool), -(-new.size // spectral.THREADS)
    new[-1, -2:], now[-1, -2:], hidden[-1, -1] = [4, 6], [1, 2], True
    sums = sparse((grid, 2), np.float64)
    run_blocks(spectral.renew, grid, spectral.THREADS, [(grid - 1, 0, 0)], new, hidden, 1, now, before, sums)
    assert now[-1, -2:].tolist() == [0, 6] and before[-1, -2:].tolist() == [1, 2] and sums[-1].tolist() == [17, 36]
    slices, lines = 2**24 + 1, 65535
    Y, Z, out = (with_tail(slices - 1, np.full((1, 17, 17), number, np.float32)) for number in (2, 3, 0))
    factors = [np.float32(number) for number in (1, 10, 100)]
    places = [(x, (slices - 1) % lines, 0) for x in (0, 9)]
    run_blocks(bulge_chasing.combine, (10, lines), BLOCK, places, Y, Z, *factors, out)
    assert out[-1, 0, :2].tolist() == [321, 320] and out[-1, 16, 16] == 321
