"""Kernels of the level tree, the pass, the products with X and the covariance against their twins; sessions."""

import csv

import numpy as np
import pytest
import scipy.sparse
from support import launch, launch_repeatably, thinned

from ranking import inputs, naive, sessions

pytestmark = [
    pytest.mark.kernel,
    pytest.mark.filterwarnings("ignore:overflow encountered"),  # a GPU wraps integers silently
]

from gpukit._cuda import SIMULATED
from gpukit.ranking import cpu, feature_map, gpu
from gpukit.ranking.kernels import matrix as matrix_kernels
from gpukit.ranking.kernels import pair_sums as pair_sums_kernels
from gpukit.ranking.kernels import rows as rows_kernels
from gpukit.ranking.pair_sums import make_pair_sums
from gpukit.ranking.problem import Csr, Partners, Sums, share_out
from gpukit.ranking.twins import matrix as matrix_twins
from gpukit.ranking.twins import pair_sums as pair_sums_twins

BLOCK = 96


def launched(kernel):
    """Return the kernel as a function on numpy arrays, after the number of threads."""
    return lambda count, *arguments: launch(kernel, -(-count // BLOCK), BLOCK, *arguments)


def planes(at, arity, dtype, start_planes, search_plane):
    """Return (tables, counts, values) of every plane for scores at.s.

    The functions take the number of documents first.
    """
    made = sessions.problem_of(at, None, arity).tree
    l, keys, order = len(at.y), np.empty(len(at.y)), np.empty(len(at.y), np.int32)
    keys[made.place] = at.s
    for begin, end in zip(made.group_starts[:-1], made.group_starts[1:]):
        order[begin:end] = np.argsort(keys[begin:end], kind="stable")
    ranks = sessions.ranks_of(made)
    tables = np.full((made.planes, 2 * made.arity - 1, l), 7, dtype)
    counts, values = np.full((2, l), 7, np.int32), [np.zeros(l) for _ in range(made.planes + 1)]
    start_planes(l, order, keys, ranks, made.documents, tables, values[0])
    for plane in range(made.planes):
        search_plane(l, plane, made.arity**plane, ranks, Partners(tables, counts), values[plane], values[plane + 1])
    return tables, counts, np.array(values)


@pytest.mark.parametrize(
    "lengths, levels, scores, arity, dtype",
    [
        ([33, 0, 1, 40], 3, "margins", 5, np.uint16),
        ([250, 0, 1, 40], 3, "rounded", None, np.int32),
        ([60, 31, 2], 0, "margins", 2, np.uint16),
        ([60, 5], 0, "normal", 5, np.int32),
        ([30, 7], 4, "equal", 2, np.uint16),
    ],
)
def test_level_tree(lengths, levels, scores, arity, dtype):
    at = inputs.queries(lengths, levels, scores, seed=1)
    found = planes(at, arity, dtype, launched(pair_sums_kernels.start_planes), launched(pair_sums_kernels.search_plane))
    twins = [
        lambda count, *arguments, twin=twin: twin(*arguments)
        for twin in (pair_sums_twins.start_planes, pair_sums_twins.search_plane)
    ]
    for mine, other in zip(found, planes(at, arity, dtype, *twins)):
        np.testing.assert_array_equal(mine, other)
    above, below = naive.pair_sums(at.y, at.s, np.ones(len(at.y)), at.offsets)
    np.testing.assert_array_equal(found[1], [above + below, below - above])


def walk(at, arity, X, weights, blocks):
    """Return (Walk, Partners) of a pass, with the level tree searched by the twins for scores at.s."""
    problem = sessions.problem_of(at, X, arity, weights)
    session = make_pair_sums(problem, "scan", cpu)
    session.move(np.eye(X.shape[1])[0])
    return share_out(problem, blocks), session.partners


# (lengths, levels, arity), n, (lanes, quads), capacity, dtype of X
MANY_ROWS = [250, 1, 270, 40]  # of one block, 8 at a time: more than PATIENCE of a thread, then further ones
PASSES = {
    "few features": (([40, 1, 7, 64], 3, 3), 5, (4, 1), 64, np.float32),
    "lanes beyond the row": (([33, 31, 2], 2, 2), 6, (32, 1), 256, np.float64),
    "deep and long": (([300, 9], 0, 2), 22, (4, 3), 640, np.float64),
    "long in one plane": (([270, 256, 3], 5, 5), 8, (8, 2), 640, np.float32),
    "through the workspace": (([270, 33], 5, 5), 13, (8, 2), 0, np.float32),
    "deep through the workspace": (([40, 33, 1], 0, 3), 13, (16, 1), 0, np.float64),
    "many rows": ((MANY_ROWS, 3, 3), 4, (32, 1), 640, np.float32),
}


@pytest.mark.parametrize("name, exact", thinned(PASSES, [True, False], share=2))
def test_pair_product(name, exact):
    (lengths, levels, arity), n, shape, capacity, dtype = PASSES[name]
    at = inputs.queries(lengths, levels, "margins", seed=2)
    (X, w), weights = sessions.documents(at, n, dtype), sessions.weights_of(at)
    blocks = 1 if lengths is MANY_ROWS else 2
    over = walk(at, arity, X, weights, blocks)
    v = np.random.default_rng(3).normal(size=n)
    longest = 1 if capacity else max(lengths)
    partial, workspace = np.full((blocks, n + 1), np.nan), np.full((blocks, 3 * longest + 1), np.nan)
    product = pair_sums_kernels.make_pair_product(*shape, arity - 1, capacity, exact)
    u, margin = (w, 1.0) if exact else (v, 0.0)
    launch_repeatably(product, blocks, rows_kernels.THREADS, gpu.pad_columns(X), u, margin, *over, partial, workspace)
    expected = sessions.expected_walk(at, X, w, u, margin, weights)
    sessions.assert_close(partial.sum(axis=0), expected, 1e-12 if exact else 1e-6)
    twin = np.empty_like(partial)
    pair_sums_twins.pair_product(X, u, margin, *over, twin)
    np.testing.assert_allclose(partial, twin, rtol=0, atol=(1e-12 if exact else 1e-6) * expected[1].max())


@pytest.mark.parametrize("length, capacity", [(200, 256), (700, 1280), (300, 0)])
def test_what_scores_of_a_query_have_in_common_costs_no_digits(length, capacity):
    """For one document per thread, for several, and through the workspace."""
    at = inputs.queries([length], 5, "margins")
    over, u, found = walk(at, 5, np.zeros((length, 1)), np.ones(1), 1), np.round(at.u * 2**20) / 2**20, []
    product = pair_sums_kernels.make_pair_product(4, 1, 4, capacity, True)
    for common in (0.0, 2.0**30):  # u + common is exact; its sums over a query are not
        partial, workspace = np.full((1, 2), np.nan), np.full((1, 3 * length + 1), np.nan)
        X = gpu.pad_columns(u[:, None] + common)
        launch(product, 1, rows_kernels.THREADS, X, np.ones(1), 0.0, *over, partial, workspace)
        found.append(partial[0, 1])
    assert found[1] == pytest.approx(found[0], rel=1e-12)


def test_blocks_without_queries():
    at = inputs.queries([1, 5, 9], 2)
    X, w = sessions.documents(at, 4)
    over, partial = walk(at, 2, X, np.ones(3), 5), np.full((5, 5), np.nan)
    product = pair_sums_kernels.make_pair_product(4, 1, 1, 256, True)
    launch(product, 5, rows_kernels.THREADS, X, w, 1.0, *over, partial, np.empty((1, 1)))
    np.testing.assert_array_equal(partial[np.diff(over[0].firsts) == 0], 0)
    sessions.assert_close(partial.sum(axis=0), sessions.expected_walk(at, X, w, w, 1.0, np.ones(3)))


@pytest.mark.parametrize("capacity, lengths, levels", [(64, [40, 1, 7], 0), (0, [270, 1, 33], 3)])
def test_pair_sums_and_combine(capacity, lengths, levels):
    at, arity = inputs.queries(lengths, levels, "margins"), 3
    (X, _), weights, l = sessions.documents(at, 1), np.array([1.5, 1.0, 0.5]), sum(lengths)
    over = walk(at, arity, X, weights, 4)
    z, loss, twin_z, twin_loss = np.zeros(l), np.full(4, np.nan), np.zeros(l), np.empty(4)
    workspace = np.full((4, 3 * max(lengths) + 1), np.nan)
    launch(pair_sums_kernels.make_pair_sums(capacity), 4, rows_kernels.THREADS, at.u, 1.0, *over, z, loss, workspace)
    pair_sums_twins.pair_sums(at.u, 1.0, *over, twin_z, twin_loss)
    np.testing.assert_allclose(z, twin_z, rtol=0, atol=1e-11)
    np.testing.assert_allclose(loss, twin_loss, rtol=1e-12)
    sums = [Sums(*naive.pair_sums(at.y, at.s, u, at.offsets)) for u in (np.ones(l), at.u)]
    again, parts = np.full(l, np.nan), np.full(l, np.nan)
    launched(pair_sums_kernels.combine)(l, at.u, 1.0, *sums, np.repeat(weights, lengths), again, parts)
    np.testing.assert_allclose(again, z, rtol=0, atol=1e-11)
    assert parts.sum() == pytest.approx(loss.sum(), rel=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape, n, rows", [((4, 1), 5, 130), ((8, 2), 61, 33), ((16, 1), 64, 1), ((32, 2), 131, 20)])
def test_products_with_a_dense_matrix(shape, n, rows, dtype):
    rng = np.random.default_rng(n)
    X, v, z = rng.normal(size=(rows, n)).astype(dtype), rng.normal(size=n), rng.normal(size=rows)
    scores, partial = np.full(rows, np.nan), np.full((2, n), np.nan)
    launch_repeatably(
        matrix_kernels.make_document_scores(*shape), 2, rows_kernels.THREADS, gpu.pad_columns(X), v, scores
    )
    launch_repeatably(
        matrix_kernels.make_transposed_product(*shape), 2, rows_kernels.THREADS, gpu.pad_columns(X), z, partial
    )
    twin = np.empty(rows)
    matrix_twins.document_scores(X, v, twin)
    np.testing.assert_allclose(scores, twin, rtol=0, atol=1e-12)
    np.testing.assert_allclose(partial.sum(axis=0), X.astype(np.float64).T @ z, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    "n, shape", [(1, (4, 1)), (46, (4, 3)), (49, (8, 2)), (136, (16, 3)), (699, (32, 6)), (1024, (32, 8))]
)
def test_shapes(n, shape):
    assert rows_kernels.shape(n) == shape and 4 * shape[0] * shape[1] >= n


@pytest.mark.parametrize("n, rows", [(1, 3), (4, 3), (6, 0)])
def test_padded(n, rows):
    X = np.ones((rows, n), np.float32)
    found = gpu.pad_columns(X)
    assert found.shape == (rows, -(-n // 4) * 4) and found.dtype == np.float32 and found.flags.c_contiguous
    np.testing.assert_array_equal(found, np.where(np.arange(found.shape[1]) < n, 1, 0) + np.zeros((rows, 1)))


def test_shared_memory_is_enough(root):
    """The assumed static shared memory is the compiler's; no choice exceeds a block's limit."""
    rows = list(csv.DictReader((root / "docs" / "kernels.csv").open()))
    costs = [
        (row["case"].partition("[")[2][:-1].split(", "), int(row["shared"]))
        for row in rows
        if row["case"].startswith("ranking.pair_product")
    ]
    known = [(int(c[2]) * int(c[3]) * 4, int(c[5]), shared) for c, shared in costs if c[6] == "True"]
    assert known and all(gpu.shared_bytes(capacity, n) == shared for n, capacity, shared in known)
    for longest in (2, 256, 257, 1280, 1281, 1856):
        for n in range(1, rows_kernels.LIMIT + 1):
            capacity, _ = gpu.room(longest, n, 1)
            assert capacity == 0 or (capacity >= longest and gpu.shared_bytes(capacity, n) <= gpu.SHARED)
    assert gpu.room(1856, 136, 1)[0] == 1856 and gpu.room(1280, 1024, 1)[0] == 1280
    assert gpu.room(1857, 1, 3)[0] == 0 and gpu.room(1857, 1, 3)[1].shape == (3, 3 * 1857 + 1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_csr_product(dtype):
    """Rows of 0 to 70 numbers."""
    rng = np.random.default_rng(5)
    X = np.where(rng.random((11, 70)) < np.linspace(0, 1, 11)[:, None], rng.normal(size=(11, 70)), 0).astype(dtype)
    A, v, out, twin = scipy.sparse.csr_matrix(X), rng.normal(size=70), np.full(11, np.nan), np.empty(11)
    rows = Csr(A.indptr.astype(np.int64), A.indices.astype(np.int32), A.data)
    launch_repeatably(matrix_kernels.csr_product, gpu.grid(32 * 11), 256, rows, v, out)
    matrix_twins.csr_product(rows, v, twin)
    np.testing.assert_allclose(out, twin, rtol=0, atol=1e-12)
    np.testing.assert_allclose(out, X.astype(np.float64) @ v, rtol=0, atol=1e-12)


def test_by_rank():
    rng = np.random.default_rng(6)
    scores, place, keys = rng.normal(size=100), rng.permutation(100).astype(np.int32), np.full(100, np.nan)
    launched(matrix_kernels.by_rank)(100, scores, place, keys)
    np.testing.assert_array_equal(keys[place], scores)


@pytest.mark.parametrize("rows, columns", [(1, 1), (7, 33), (8, 32), (19, 65), (64, 9), (65, 8), (133, 17)])
def test_add_rows(rows, columns):
    """Blocks are wide up to gpu.SHARES rows, then tall."""
    partial, total = np.random.default_rng(7).normal(size=(rows, columns)), np.full(columns, np.nan)
    launch_repeatably(*gpu.addition(partial, total))
    np.testing.assert_allclose(total, partial.sum(axis=0), rtol=0, atol=1e-13)


@pytest.mark.parametrize("n, lengths, shares", [(5, [20, 1, 16], 2), (70, [9, 14], 1), (64, [5, 5], 4)])
def test_gram(n, lengths, shares):
    """A query of one level; less than a tile, a tile, and more."""
    at = inputs.queries(lengths, 3)
    X, made = inputs.features(at, n), sessions.problem_of(at, None).tree
    weights, l, m = sessions.weights_of(at), len(at.y), len(lengths)
    pulls, twin_pulls, means, twin_means = np.full(l, np.nan), np.empty(l), np.full((m, n), np.nan), np.empty((m, n))
    tree = sessions.ranks_of(made), made.level, made.offsets
    launched(matrix_kernels.pair_pulls)(l, *tree, weights, pulls)
    matrix_twins.pair_pulls(*tree, weights, twin_pulls)
    np.testing.assert_array_equal(pulls, twin_pulls)
    np.testing.assert_array_equal(pulls, sessions.problem_of(at, None, weights=weights).pulls())
    launch_repeatably(matrix_kernels.query_means, m, 32, gpu.pad_columns(X), made.offsets, pulls, means)
    matrix_twins.query_means(X, made.offsets, pulls, twin_means)
    np.testing.assert_allclose(means, twin_means, rtol=0, atol=1e-13)
    tiles, partial = np.array(gpu.tile_pairs(n), np.int32), np.full((shares, n, n), np.nan)
    arguments = means, made.query, pulls, tiles, partial
    launch_repeatably(matrix_kernels.weighted_gram, (len(tiles), shares), 256, gpu.pad_columns(X), *arguments)
    twin = np.empty((3, n, n))
    matrix_twins.weighted_gram(X, means, made.query, pulls, tiles, twin)
    scale = np.abs(twin).max()
    np.testing.assert_allclose(partial.sum(axis=0), twin.sum(axis=0), rtol=0, atol=1e-12 * scale)


@pytest.mark.parametrize("solver, sparse", thinned(["scan", "p-swx", "p-swx, weighted"], [False, True], share=2))
def test_sessions(solver, sparse, monkeypatch):
    """Scores, sorting, search, products and covariance, launched as in a training."""
    solver, _, weighted = solver.partition(", ")
    monkeypatch.setattr(gpu, "walk_blocks", lambda: 2)
    sessions.small_blocks(monkeypatch)
    at = inputs.queries([20, 1, 33], 3, "margins")
    (X, w), weights = sessions.documents(at, 6, np.float32), np.array([1.0, 3.0, 0.5])
    v = np.random.default_rng(8).normal(size=6)
    own = sessions.own_weights(at) if weighted else np.ones(54)
    problem = sessions.problem_of(
        at, scipy.sparse.csr_array(X) if sparse else X, None, weights, own if weighted else None
    )
    session, twin = make_pair_sums(problem, solver, gpu), make_pair_sums(problem, solver, cpu)
    for session_of in (session, twin):
        session_of.move(v)
        session_of.move(w)
    for u, margin in ((w, 1.0), (v, 0.0)):
        expected = sessions.expected_walk(at, X, w, u, margin, weights, own=own)
        sessions.assert_close(session.walk(u, margin), expected)
        sessions.assert_close(session.walk(u, margin, exact=False), expected, 1e-6)
    gram = twin.gram()
    np.testing.assert_allclose(session.gram(), gram, rtol=0, atol=1e-12 * np.abs(gram).max())


BLOCKS = [(1, np.float64, 2, 3), (700, np.float64, 1, 3), (700, np.float32, 2, 99), (1 << 20, np.float32, 2, 3)]


@pytest.mark.parametrize("kind, blocks", thinned(["thresholds", "fourier"], BLOCKS, share=4))
def test_sessions_with_a_feature_map(kind, blocks, monkeypatch):
    """As on the CPU, by blocks of one query, of some, and of all; numpy takes the place of cupy in the simulator."""
    size, dtype, lists, least = blocks
    if SIMULATED:
        monkeypatch.setattr(gpu, "library", lambda: np)
    monkeypatch.setattr(gpu, "walk_blocks", lambda: lists)
    sessions.small_blocks(monkeypatch)
    monkeypatch.setattr(gpu, "EXPANDED", size)
    monkeypatch.setattr(feature_map, "WAVES", 13)
    monkeypatch.setattr(feature_map, "LEAST", least)  # 99: no thresholds
    at = inputs.queries([20, 1, 33, 5, 7, 4], 3, "margins")
    X, exact = sessions.documents(at, 6, dtype)[0], 1e-12 if dtype == np.float64 else 2e-6
    expanded = feature_map.Expanded(X, feature_map.fit(kind, X, at.offsets), at.offsets)
    problem = sessions.problem_of(at, expanded, None, np.array([1.0, 3.0, 0.5, 1.0, 2.0, 1.0]))
    session, twin = make_pair_sums(problem, "scan", gpu), make_pair_sums(problem, "scan", cpu)
    w, v, other = np.random.default_rng(8).normal(size=(3, expanded.shape[1]))
    combined = 0.5 * w - 0.2 * v
    at_points = (0.0 * w, True, 1), (w, True, 2), (v, False, 1), (w, False, 1), (combined, True, 1), (other, True, 2)
    for u, moves, passes in (*at_points, (combined - other, True, 1)):
        before, margin = session.matrix.passes, float(moves)
        for one in (session, twin):
            if moves:
                one.move(u)
        expected = twin.walk(u, margin)
        np.testing.assert_allclose(session.walk(u, margin), expected, rtol=0, atol=exact * abs(expected).max())
        assert session.matrix.passes == before + passes
    z, gram = np.random.default_rng(9).normal(size=len(X)), twin.gram()
    np.testing.assert_allclose(session.matrix.transposed(gpu.put(z)), z @ expanded[:], rtol=0, atol=1e3 * exact)
    np.testing.assert_allclose(session.gram(), gram, rtol=0, atol=exact * abs(gram).max())
    np.testing.assert_allclose(session.gram(diagonal=True), gram.diagonal(), rtol=0, atol=exact * abs(gram).max())


def test_sessions_with_gains(monkeypatch):
    """On the GPU as on the CPU, which the oracle checks."""
    monkeypatch.setattr(gpu, "walk_blocks", lambda: 2)
    sessions.small_blocks(monkeypatch)
    at = inputs.queries([20, 1, 33], 3, "margins")
    (X, w), gains = sessions.documents(at, 6), 2.0**at.level
    problem = sessions.problem_of(at, X, None, np.array([1.0, 3.0, 0.5]), sessions.own_weights(at), gains)
    session, twin = make_pair_sums(problem, "p-swx", gpu), make_pair_sums(problem, "p-swx", cpu)
    for session_of in (session, twin):
        session_of.move(w)
    for margin in (1.0, 0.0):
        expected = twin.walk(w, margin)
        np.testing.assert_allclose(session.walk(w, margin), expected, rtol=0, atol=1e-12 * abs(expected).max())
    np.testing.assert_array_equal(session._pulls().copy_to_host(), twin._pulls())


def test_a_matrix_too_wide_for_registers(monkeypatch):
    """It is stored by rows."""
    monkeypatch.setattr(gpu, "LIMIT", 5)
    monkeypatch.setattr(gpu, "walk_blocks", lambda: 2)
    X = np.random.default_rng(9).normal(size=(4, 6)).astype(np.float32)
    assert isinstance(gpu.matrix(X[:, :5].copy()), gpu.Dense)
    matrix, out = gpu.matrix(X), gpu.empty(4, np.float64)
    assert isinstance(matrix, gpu.Sparse)
    matrix.scores(np.ones(6), out)
    np.testing.assert_allclose(out.copy_to_host(), X.astype(np.float64).sum(axis=1), rtol=0, atol=1e-12)


def test_pad_rows_and_its_twin():
    X = np.random.default_rng(0).normal(size=(7, 5)).astype(np.float32)
    padded, twin = np.full((7, 8), np.nan, np.float32), np.full((7, 8), np.nan, np.float32)
    launch(matrix_kernels.pad_rows, 2, 32, X, padded)
    matrix_twins.pad_rows(X, twin)
    np.testing.assert_array_equal(padded, twin)
    np.testing.assert_array_equal(twin, np.pad(X, ((0, 0), (0, 3))))
