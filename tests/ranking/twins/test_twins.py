"""Sessions on the CPU, and their twins, against all pairs."""

import numpy as np
import pytest
import scipy.sparse
from support import thinned

from gpukit.ranking import cpu
from gpukit.ranking.pair_sums import make_pair_sums
from gpukit.ranking.problem import Sums
from gpukit.ranking.sparse import sparse_gram
from gpukit.ranking.twins import matrix as matrix_twins
from gpukit.ranking.twins import pair_sums as pair_sums_twins
from ranking import data, inputs, naive, sessions

ARITIES = [None, 2, 3, 8]
SOLVERS = ["scan", "p-swx", "dcm", "ost"]


def assert_walks(session, at, X, w, weights, pair_sums=naive.pair_sums):
    """Compare a session's gradient, loss and product at w with those of all pairs."""
    v = np.random.default_rng(9).normal(size=X.shape[1])
    session.move(w)
    for u, margin in ((w, 1.0), (v, 0.0)):
        sessions.assert_close(session.walk(u, margin), sessions.expected_walk(at, X, w, u, margin, weights, pair_sums))


def assert_tables(session, at, pair_sums=naive.pair_sums):
    """Check the level tree's counts and ranges after a move to the scores at.s."""
    ones = np.ones(len(at.y))
    above, below = pair_sums(at.y, at.s, ones, at.offsets)
    np.testing.assert_array_equal(session.partners.counts, [above + below, below - above])
    np.testing.assert_array_equal(sessions.sums_by_tables(session, ones), [above, below])
    for u in (at.s, at.u):
        error = np.abs(sessions.sums_by_tables(session, u) - pair_sums(at.y, at.s, u, at.offsets))
        assert error.max() <= 1e-12 * np.abs(u).sum()


@pytest.mark.parametrize("name, arity", thinned(sessions.WITH_PAIRS, ARITIES))
def test_scan(name, arity):
    at = inputs.case(name, seed=1)
    (X, w), weights = sessions.documents(at, 5), sessions.weights_of(at)
    session = make_pair_sums(sessions.problem_of(at, X, arity, weights), "scan", cpu)
    assert_walks(session, at, X, w, weights)
    assert_tables(session, at)


def test_a_long_query():
    """20,000 documents, many of them tied or exactly at the margin."""
    at = inputs.queries([20000, 1, 300], 40, "margins")
    (X, w), weights = sessions.documents(at, 3), np.ones(3)
    session = make_pair_sums(sessions.problem_of(at, X), "scan", cpu)
    assert_walks(session, at, X, w, weights, sessions.sums_by_levels)
    assert_tables(session, at, sessions.sums_by_levels)


def test_the_oracle_for_long_queries():
    at = inputs.case("five levels at the margin")
    np.testing.assert_allclose(sessions.sums_by_levels(*at[:4]), naive.pair_sums(*at[:4]), rtol=0, atol=1e-12)


@pytest.mark.slow
def test_positions_of_four_bytes():
    """A query of 70,000 documents in two levels: partners of one are counted by searching in the other."""
    rng = np.random.default_rng(4)
    y, s = np.repeat([0.0, 1], 35000), rng.normal(size=70000)
    low, high = np.sort(s[:35000]), np.sort(s[35000:])
    at = inputs.Queries(y, s, None, np.array([0, 70000]), None, None)
    session = make_pair_sums(sessions.problem_of(at, s[:, None]), "scan", cpu)
    session.move(np.ones(1))
    above = np.searchsorted(high, s[:35000] + 1)
    below = 35000 - np.searchsorted(low, s[35000:] - 1, "right")
    assert session.partners.tables.dtype == np.int32
    np.testing.assert_array_equal(session.partners.counts, [np.append(above, below), np.append(-above, below)])


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("solver", SOLVERS)
def test_every_solver(solver, dtype, sparse):
    at = inputs.case("five levels at the margin", seed=2)
    (X, w), weights = sessions.documents(at, 7, dtype), sessions.weights_of(at)
    X[:, 3] = 0
    X = scipy.sparse.csr_array(X) if sparse else X
    assert_walks(make_pair_sums(sessions.problem_of(at, X, weights=weights), solver, cpu), at, X, w, weights)


@pytest.mark.parametrize("solver", SOLVERS)
def test_gradient_loss_and_product_are_the_objectives(solver):
    """Against the oracle's objective, which `expected_walk` rearranges."""
    at = inputs.case("three levels")
    X, weights, C = inputs.features(at, 6), sessions.weights_of(at), 0.3
    w, v = np.random.default_rng(1).normal(size=(2, 6))
    session = make_pair_sums(sessions.problem_of(at, X, weights=weights), solver, cpu)
    session.move(w)
    point = naive.objective(w, X, at.y, at.offsets, C, weights)
    row, product = session.walk(w, 1.0), session.walk(v, 0.0)
    assert 0.5 * w @ w + C * row[-1] == pytest.approx(point.f, rel=1e-12)
    assert data.relative(w + 2 * C * row[:-1], point.gradient) < 1e-12
    Hv = point.hessian_vector(v)
    assert data.relative(v + 2 * C * product[:-1], Hv) < 1e-12
    assert v @ v + 2 * C * product[-1] == pytest.approx(v @ Hv, rel=1e-12)


def test_a_session_answers_as_a_new_one():
    """After any other points."""
    at = inputs.case("total order")
    X, w = sessions.documents(at, 4)
    moved, fresh = (make_pair_sums(sessions.problem_of(at, X, 3), "scan", cpu) for _ in range(2))
    moved.move(np.ones(4))
    for session in (moved, fresh):
        session.move(w)
    np.testing.assert_array_equal(moved.walk(w, 1.0), fresh.walk(w, 1.0))


def test_results_do_not_depend_on_where_arrays_lie():
    """To the bit: a loop that is vectorized only for arrays that do not overlap must not add."""
    at = inputs.case("total order")
    (X, w), kept, rng = sessions.documents(at, 4), [], np.random.default_rng(0)
    session, found = make_pair_sums(sessions.problem_of(at, X, 3), "scan", cpu), set()
    session.move(w)
    for _ in range(600):
        kept.append(np.empty(int(rng.integers(1, 3000))))
        kept = kept[::2] if rng.random() < 0.15 else kept
        partial, counts = np.empty((cpu.BLOCKS, 5)), session.partners.counts.copy()
        pair_sums_twins.pair_product(X, w, 1.0, session.over, session.partners._replace(counts=counts), partial)
        found.add(partial.tobytes())
    assert len(found) == 1


@pytest.mark.parametrize("name", [name for name in sessions.WITH_PAIRS if name != "2,000 levels"])
@pytest.mark.parametrize("solver", SOLVERS[1:])
@pytest.mark.parametrize("weighted, with_gains", [(True, False), (False, True), (True, True)])
def test_weights_of_documents_and_pairs(solver, name, weighted, with_gains):
    """Objective, gradient, product, sums pair by pair and the weights of all pairs, next to weights of queries."""
    at = inputs.case(name)
    (X, w), weights, own = sessions.documents(at, 3), sessions.weights_of(at), sessions.own_weights(at)
    own, gains = own if weighted else None, np.sqrt(5 + at.level) if with_gains else None
    v = np.random.default_rng(1).normal(size=3)
    session = make_pair_sums(sessions.problem_of(at, X, None, weights, own, gains), solver, cpu)
    session.move(v)
    session.move(w)
    given = X, at.y, at.offsets, 1.0, weights, own, gains
    point = naive.objective(w, *given)
    size = naive.objective(np.zeros(3), *given).f * (1 + abs(X).max()) ** 2
    size *= 100 if with_gains else 1
    row, product = session.walk(w, 1.0), session.walk(v, 0.0)
    assert 0.5 * w @ w + row[-1] == pytest.approx(point.f, rel=1e-12, abs=1e-13 * size)
    np.testing.assert_allclose(w + 2 * row[:-1], point.gradient, rtol=0, atol=1e-13 * size)
    np.testing.assert_allclose(v + 2 * product[:-1], point.hessian_vector(v), rtol=0, atol=1e-13 * size)
    assert session.pair_loss() == pytest.approx(point.f - 0.5 * w @ w, rel=1e-12)
    i, j = naive.pairs(at.y, at.offsets)
    costs = np.repeat(weights, np.diff(at.offsets))[i] * (own[i] * own[j] if weighted else 1.0)
    costs *= gains[i] - gains[j] if with_gains else 1.0
    pulls = np.bincount(i, costs, len(at.y)) + np.bincount(j, costs, len(at.y))
    np.testing.assert_allclose(session._pulls(), pulls, rtol=0, atol=1e-13 * pulls.max())
    assert session.problem.weighted_pairs == pytest.approx(costs.sum(), rel=1e-12)
    ones, unweighted = np.ones(len(at.y)), sessions.problem_of(at, X, weights=weights)
    np.testing.assert_array_equal(unweighted.pulls(), unweighted._replace(document_weights=ones).pulls())


def test_pair_sums_and_combine():
    """Both give z and the loss of a pass, by different methods; z is unchanged for a query without pairs."""
    at = inputs.queries([30, 1, 40], 4, "margins")
    (X, w), weights = sessions.documents(at, 2), np.array([1.0, 5, 0.5])
    session = make_pair_sums(sessions.problem_of(at, X, 2, weights), "scan", cpu)
    session.move(w)
    counts, sums = (Sums(*naive.pair_sums(at.y, at.s, u, at.offsets)) for u in (np.ones(71), at.u))
    z, loss, parts = np.full(71, np.nan), np.empty(cpu.BLOCKS), np.empty((2, 71))
    pair_sums_twins.pair_sums(at.u, 1.0, session.over, session.partners, z, loss)
    pair_sums_twins.combine(at.u, 1.0, counts, sums, np.repeat(weights, np.diff(at.offsets)), *parts)
    assert np.isnan(z[30]) and parts[0, 30] == 0
    np.testing.assert_allclose(np.delete(z, 30), np.delete(parts[0], 30), rtol=0, atol=1e-12)
    assert loss.sum() == pytest.approx(parts[1].sum(), rel=1e-12)


@pytest.mark.parametrize("rows", [0, 1, 63, 64, 65, 1000])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_with_a_dense_matrix(rows, dtype):
    rng = np.random.default_rng(rows)
    X, v, z = rng.normal(size=(rows, 9)).astype(dtype), rng.normal(size=9), rng.normal(size=rows)
    z[::3] = 0
    dense, scores = cpu.Dense(X), np.empty(rows)
    dense.scores(v, scores)
    np.testing.assert_allclose(scores, X.astype(float) @ v, rtol=0, atol=1e-13)
    np.testing.assert_allclose(dense.transposed(z), X.astype(float).T @ z, rtol=0, atol=1e-12)


@pytest.mark.parametrize("sparse", [False, True])
def test_what_scores_of_a_query_have_in_common_costs_no_digits(sparse):
    at = inputs.queries([3000, 1, 40], 0, "margins")
    u, found = np.round(at.u * 2**30) / 2**30, []
    for common in (0.0, 2.0**20):  # u + common is exact; its sums over a query are not
        X = np.column_stack([at.s, u + common])
        session = make_pair_sums(sessions.problem_of(at, scipy.sparse.csr_array(X) if sparse else X), "scan", cpu)
        session.move(np.array([1.0, 0.0]))
        found.append(session.walk(np.array([0.0, 1.0]), 0.0)[-1])
    assert found[1] == pytest.approx(found[0], rel=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_with_a_sparse_matrix(dtype):
    """With empty rows and columns."""
    rng = np.random.default_rng(5)
    X = np.where(rng.random((200, 30)) < 0.1, rng.normal(size=(200, 30)), 0).astype(dtype)
    X[:3], X[:, 29] = 0, 0
    v, z, scores = rng.normal(size=30), rng.normal(size=200), np.full(200, np.nan)
    sparse = cpu.matrix(scipy.sparse.csr_matrix(X))
    sparse.scores(v, scores)
    np.testing.assert_allclose(scores, X.astype(float) @ v, rtol=0, atol=1e-13)
    np.testing.assert_allclose(sparse.transposed(z), X.astype(float).T @ z, rtol=0, atol=1e-12)


def test_by_rank_and_add_rows():
    rng = np.random.default_rng(6)
    scores, place, keys = rng.normal(size=100), rng.permutation(100).astype(np.int32), np.empty(100)
    matrix_twins.by_rank(scores, place, keys)
    np.testing.assert_array_equal(keys[place], scores)
    partial, total = rng.normal(size=(33, 5)), np.empty(5)
    matrix_twins.add_rows(partial, total)
    np.testing.assert_allclose(total, partial.sum(axis=0), rtol=0, atol=1e-13)


def covariance(at, X, weights):
    """Return the sum over the documents of weight * others * (x - mean)(x - mean)', mean weighted alike, by loops."""
    found = np.zeros((X.shape[1], X.shape[1]))
    for weight, begin, end in zip(weights, at.offsets[:-1], at.offsets[1:]):
        pulls = weight * np.array([np.sum(at.y[begin:end] != y) for y in at.y[begin:end]])
        if pulls.any():
            mean = pulls @ X[begin:end] / pulls.sum()
            for pull, x in zip(pulls, X[begin:end]):
                found += pull * np.outer(x - mean, x - mean)
    return found


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(
    "name, n", [("two levels", 5), ("total order", 3), ("empty queries", 1), ("long and short", 70)]
)
def test_gram(name, n, sparse):
    at = inputs.case(name)
    X, weights = inputs.features(at, n) + np.float32(3), sessions.weights_of(at)
    problem = sessions.problem_of(at, scipy.sparse.csr_array(X) if sparse else X, weights=weights)
    expected = covariance(at, X.astype(np.float64), weights)
    gram = make_pair_sums(problem, "scan", cpu).gram()
    np.testing.assert_allclose(gram, expected, rtol=0, atol=1e-11 * np.abs(expected).max())


def test_gram_is_nearly_the_hessian():
    """For a query of k levels with a document each, X'A'AX with all pairs active is k / (k - 1) times the matrix."""
    at = inputs.queries([40], 0)
    X = inputs.features(at, 4).astype(np.float64)
    i, j = naive.pairs(at.y, at.offsets)
    expected = (X[i] - X[j]).T @ (X[i] - X[j])
    gram = make_pair_sums(sessions.problem_of(at, X), "scan", cpu).gram()
    np.testing.assert_allclose(gram * 40 / 39, expected, rtol=0, atol=1e-11 * np.abs(expected).max())


def test_gram_of_a_query_without_pairs():
    """Its mean is 0, and it adds 0, sparse or dense."""
    at = inputs.queries([20, 5], 1)
    at.y[:10] += 1
    X, made = inputs.features(at, 3), sessions.problem_of(at, None).tree
    pulls, means, partial = sessions.problem_of(at, None).pulls(), np.full((2, 3), np.nan), np.empty((3, 3, 3))
    np.testing.assert_array_equal(pulls, [10.0] * 20 + [0.0] * 5)
    matrix_twins.query_means(X, made.offsets, pulls, means)
    np.testing.assert_allclose(means, [X[:20].mean(axis=0), np.zeros(3)], rtol=1e-5)
    matrix_twins.weighted_gram(X, means, made.query, pulls, np.empty((0, 2), np.int32), partial)
    sparse = sparse_gram(scipy.sparse.csr_array(X), made.offsets, pulls)
    np.testing.assert_allclose(partial.sum(axis=0), covariance(at, X.astype(float), np.ones(2)), atol=1e-10)
    np.testing.assert_allclose(partial.sum(axis=0), sparse, rtol=0, atol=1e-10)
