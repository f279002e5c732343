"""The CPU thresholding against LAPACK: whole, and twin by twin."""

import itertools

import numpy as np
import pytest

from gpukit.svt import cpu, plan
from gpukit.svt.twins import bidiagonal as bidiagonal_twins
from gpukit.svt.twins import bulge_chasing as chase_twins
from svt import inputs, naive

BOUND = {np.float32: 1e-5, np.float64: 1e-12}
dtypes = pytest.mark.parametrize("dtype", BOUND)


def norms(X):
    """Return the Frobenius norms of slices."""
    return np.sqrt((np.asarray(X, np.float64) ** 2).sum(axis=(1, 2)))


def largest(X):
    """Return the largest singular value of every slice, of X's type."""
    return np.array([S[0] for _, S, _ in naive.decompose(X)], X.dtype)


def check(X, share=0.0, whole=True, parts=None):
    """The twins' slices, values and ranks for lam = a fraction of the largest value equal LAPACK's."""
    parts = naive.decompose(X) if parts is None else parts
    S = np.array([values for _, values, _ in parts])
    first, bound = S[:, :1], BOUND[X.dtype.type]
    lam = (share * S[:, 0]).astype(X.dtype)
    expected = np.array([naive.thresholded(*part, np.float64(own)) for part, own in zip(parts, lam)])
    out = np.full_like(X, np.nan)
    values, ranks = cpu.threshold(X, lam, out, whole)
    assert (norms(out - expected) <= bound * norms(X)).all()
    near = (abs(S - lam[:, None]) <= bound * first) & (first > 0)
    assert (abs(ranks - (S > lam[:, None]).sum(axis=1)) <= near.sum(axis=1)).all()
    if whole:
        assert (abs(values - S) <= bound * first).all() and (np.diff(values) <= 0).all()
    else:
        assert values.shape == (len(X), 0)


@dtypes
@pytest.mark.parametrize("name", inputs.SLICES)
def test_threshold_slices(name, dtype):
    X = inputs.slices(name, dtype)
    parts = naive.decompose(X)
    for share in inputs.SHARES:
        check(X, share, share != 0.02, parts)


@dtypes
def test_ranks_of_deficient_slices_count_no_rounding_error(dtype):
    for name, rank in (("rank-deficient", 4), ("equal columns", 5), ("rank 1", 1), ("repeated values", 24)):
        X = inputs.slices(name, dtype)
        assert (cpu.threshold(X, np.zeros(len(X), dtype), np.empty_like(X))[1] == rank).all()


@dtypes
@pytest.mark.parametrize("size", [1, 2, 3, 4, 5])
def test_small_slices(size, dtype):
    rng = np.random.default_rng(size)
    for other in (1, 2, 5):
        check(rng.integers(-2, 3, (60, size, other)).astype(dtype), 0.3)  # many zeros and repeated values


@dtypes
@pytest.mark.parametrize("name", inputs.ZEROS)
def test_a_bidiagonal_with_zeros_on_its_diagonal(name, dtype):
    X = np.array(inputs.bidiagonal(12, inputs.ZEROS[name], np.random.default_rng(2))[None], dtype)
    for share in (0, 0.2):
        check(X, share)
        check(X.transpose(0, 2, 1).copy(), share)


def test_denormal_numbers_are_right_to_a_few_of_their_spacings():
    X = (np.random.default_rng(3).normal(size=(4, 9, 7)) * 1e-44).astype(np.float32)
    for lam in (0, 2e-44):
        expected, S = (np.array(part) for part in zip(*naive.threshold(X, np.float32(lam))))
        out = np.empty_like(X)
        values, ranks = cpu.threshold(X, np.full(4, lam, np.float32), out, True)
        assert abs(out - expected).max() <= 9 * np.finfo(np.float32).smallest_subnormal
        assert abs(values - S).max() <= 9 * np.finfo(np.float32).smallest_subnormal


@dtypes
def test_a_lam_far_above_gives_zeros(dtype):
    X = inputs.slices("gaussian 50", dtype)
    out = np.full_like(X, np.nan)
    for bound in (100, np.finfo(dtype).max):
        _, ranks = cpu.threshold(X * dtype(1e-30), np.full(3, bound, dtype), out)
        assert not out.any() and not ranks.any()


@dtypes
def test_caps(dtype):
    """With lam 0 a cap gives the truncated decomposition; with larger lam, the smaller rank applies."""
    X, cap = inputs.slices("gaussian 50", dtype), np.array([0, 3, 50], np.int32)
    parts = naive.decompose(X)
    for share in (0, 0.6):
        lam = (dtype(share) * largest(X)).astype(dtype)
        out = np.full_like(X, np.nan)
        values, ranks = cpu.threshold(X, lam, out, True, cap)
        for k, (U, S, V) in enumerate(parts):
            expected = naive.thresholded(U, S, V, np.float64(lam[k]), cap[k])
            assert np.linalg.norm(out[k] - expected) <= BOUND[dtype] * np.linalg.norm(X[k])
            assert ranks[k] == min(cap[k], (S > lam[k]).sum())
            np.testing.assert_allclose(values[k], S, atol=BOUND[dtype] * S[0])


@dtypes
def test_of_equal_values_a_cap_keeps_as_many_as_it_says(dtype):
    """A slice of equal values is projected onto rank directions."""
    X = np.stack([np.eye(24), inputs.rotated(np.ones(24), 24, 24, np.random.default_rng(5))]).astype(dtype)
    out = np.empty_like(X)
    _, ranks = cpu.threshold(X, np.zeros(2, dtype), out, cap=np.full(2, 7, np.int32))
    np.testing.assert_array_equal(ranks, 7)
    P = X.transpose(0, 2, 1) @ out
    np.testing.assert_allclose(P @ P, P, atol=24 * BOUND[dtype])
    np.testing.assert_allclose(np.trace(P, axis1=1, axis2=2), 7, rtol=BOUND[dtype])


@dtypes
def test_slices_do_not_know_of_each_other(dtype):
    """Slices of two and a half batches are bitwise equal to slices thresholded alone."""
    rng = np.random.default_rng(6)
    X, lam = rng.normal(size=(150, 7, 5)).astype(dtype), rng.random(150).astype(dtype)
    cap, out = rng.integers(0, 6, 150).astype(np.int32), np.empty((150, 7, 5), dtype)
    values, ranks = cpu.threshold(X, lam, out, True, cap)
    assert len(X) > 2 * plan.CPU_BATCH
    for k in (0, 63, 64, 127, 128, 149):
        one, part = np.empty((1, 7, 5), dtype), slice(k, k + 1)
        own_values, own_rank = cpu.threshold(X[part], lam[part], one, True, cap[part])
        assert own_rank[0] == ranks[k]
        np.testing.assert_array_equal(own_values[0], values[k])
        np.testing.assert_array_equal(one[0], out[k])


def workspace(X):
    """Return buffers filled with NaN or -1."""
    work = plan.buffers(len(X), min(X.shape[1:]), X.dtype, np.empty)
    for array in work:
        array.fill(np.nan if array.dtype.kind == "f" else -1)
    return work


def tall(X):
    """Return slices or their transposes, whichever are tall, in float64."""
    return (X.transpose(0, 2, 1) if X.shape[1] < X.shape[2] else X).astype(np.float64)


@dtypes
@pytest.mark.parametrize(
    "name",
    [
        "gaussian 33",
        "tall",
        "wide",
        "rank-deficient",
        "equal columns",
        "zeros among others",
        "huge",
        "tiny",
        "one row",
        "one number",
        "far taller",
        "rows and columns of zeros",
    ],
)
def test_bidiagonalize(name, dtype):
    """V is orthogonal, and B V' has the bidiagonal's Gram matrix."""
    X = inputs.slices(name, dtype)
    d, e, scales, states, _, _, V, _, _ = workspace(X)
    bidiagonal_twins.bidiagonalize(X, d, e, scales, states, V)
    p, bound = len(d), BOUND[dtype]
    np.testing.assert_array_equal(states, [[0, p - 1, 0]] * len(X))
    assert not e[0].any() and not e[p].any() and (np.frexp(scales)[0] == 0.5).all()
    for k, B in enumerate(tall(X) * np.float64(scales)[:, None, None]):
        rows, bidiagonal = V[k].astype(np.float64), naive.bidiagonal(d[:, k], e[:, k])
        np.testing.assert_allclose(rows @ rows.T, np.eye(p), atol=bound)
        turned, size = B @ rows.T, np.linalg.norm(B) ** 2 + 1
        np.testing.assert_allclose(turned.T @ turned, bidiagonal.T @ bidiagonal, atol=bound * size)


def chased(d, e, spans, turns):
    """Return (V, launches) of chase and rotate, from the identity, launched until finished."""
    (p, N), launches = d.shape, 0
    states, V = np.array([[0, p - 1, 0]] * N, np.int32), np.stack([np.eye(p, dtype=d.dtype)] * N)
    while states[:, 1].any():
        chase_twins.chase(d, e, states, spans, turns)
        chase_twins.rotate(states, spans, turns, V)
        launches += 1
        assert launches < 500
    return V, launches


def bidiagonals(N, p, dtype):
    """Return d (p, N), e (p + 1, N) of Gaussian numbers."""
    rng = np.random.default_rng(p)
    d, e = rng.normal(size=(p, N)).astype(dtype), rng.normal(size=(p + 1, N)).astype(dtype)
    e[0], e[p] = 0, 0
    return d, e


def room(N, sweeps, rotations, dtype):
    """Return spans and turns of a capacity."""
    return np.full((N, sweeps), -1, np.int32), np.full((N, rotations, 2), np.nan, dtype)


@dtypes
@pytest.mark.parametrize("p", [1, 2, 3, 20, 70])
def test_chase_and_rotate(p, dtype):
    """The rotated bidiagonal has orthogonal columns of length d."""
    d, e = bidiagonals(3, p, dtype)
    before = [naive.bidiagonal(d[:, k], e[:, k]) for k in range(3)]
    V, launches = chased(d, e, *room(3, 8 * p, 4 * p * p, dtype))
    assert launches <= 1 and abs(e).max() <= 1e-5 * abs(d).max()
    for k, B in enumerate(before):
        A = B @ V[k].T.astype(np.float64)
        size = np.linalg.norm(B)
        np.testing.assert_allclose(V[k] @ V[k].T, np.eye(p), atol=BOUND[dtype])
        np.testing.assert_allclose(A.T @ A, np.diag(d[:, k].astype(np.float64) ** 2), atol=BOUND[dtype] * size**2)


def test_rotate_turns_rows_by_rows():
    """Spans of all kinds, one after the other; two that start at the same row and two that do not."""
    rng = np.random.default_rng(8)
    spans = [(0, 8), (0, 8), (0, 7), (2, 5), (2, 5), (3, 8), (7, 8), (0, 1)]
    count = sum(hi - lo for lo, hi in spans)
    angles = rng.normal(size=(2, count + 5))
    turns = np.stack([np.cos(angles), np.sin(angles)], axis=2)
    V = rng.normal(size=(2, 9, 9))
    expected = [naive.turned(V[0], spans, turns[0]), V[1].copy()]
    words = np.array([[lo + (hi << 16) for lo, hi in spans]] * 2, np.int32)
    chase_twins.rotate(np.array([[0, 0, len(spans)], [0, 0, 0]], np.int32), words, turns, V)
    np.testing.assert_allclose(V, expected, atol=1e-14)


@pytest.mark.parametrize("sweeps, rotations", [(1, 1000), (3, 1000), (1000, 11), (1000, 40), (2, 22)])
def test_full_tables_are_launched_again(sweeps, rotations):
    """Several launches with full tables equal one launch."""
    d, e = bidiagonals(3, 12, np.float64)
    whole, once = (d.copy(), e.copy()), room(3, 200, 2000, np.float64)
    V, _ = chased(*whole, *once)
    parts, launches = chased(d, e, *room(3, sweeps, rotations, np.float64))
    assert launches > 2
    np.testing.assert_allclose(d, whole[0], atol=1e-13)
    np.testing.assert_allclose(parts, V, atol=1e-10)


def test_a_chase_that_is_cut_off_says_what_is_left():
    d, e = bidiagonals(2, 12, np.float64)
    d[:, 1], e[:, 1] = 1, 0
    states = np.array([[0, 11, 0]] * 2, np.int32)
    spans, turns = room(2, 3, 1000, np.float64)
    chase_twins.chase(d, e, states, spans, turns)
    assert states[0, 1] > states[0, 0] and states[0, 2] == 3 and np.isfinite(turns[0, :30]).all()
    assert states[1, 1] == 0 == states[1, 2] and (spans[1] == -1).all()


def arranged(d, lam, cap, whole=True, left=()):
    """Return (seats, weights, ranks, values) of the twin, the scales 2; left: unfinished slices."""
    N, p = len(lam), len(d)
    results = (
        np.full((N, p), -1, np.int32),
        np.full((N, p), np.nan, d.dtype),
        np.full(N, -1, np.int32),
        np.full((N, p if whole else 0), np.nan, d.dtype),
    )
    states = np.zeros((N, 3), np.int32)
    states[list(left), 1] = 1
    chase_twins.arrange(d, states, np.full(N, 2, d.dtype), lam, cap, *results)
    return results


@dtypes
def test_arrange(dtype):
    d = np.array([[1, -4, 0, 2, -3], [2, 2, -2, 2, 2], [0, 0, 0, 0, 0], [1, 1e-7, 0, 1e-20, -1]], dtype).T.copy()
    seats, weights, ranks, values = arranged(d, np.array([0.75, 0, 0, 0], dtype), np.array([5, 3, 5, 5], np.int32))
    np.testing.assert_array_equal(seats[0], [1, 4, 3, 0, 2])
    np.testing.assert_allclose(weights[0], [1 - 1.5 / 4, 0.5, 0.25, 0, 0], rtol=1e-6)
    np.testing.assert_array_equal(seats[1], range(5))  # ties go by place
    np.testing.assert_array_equal(weights[1], [1, 1, 1, 0, 0])
    np.testing.assert_array_equal(ranks, [3, 3, 0, 2 if dtype == np.float32 else 3])
    np.testing.assert_array_equal(values[0], [2, 1.5, 1, 0.5, 0])
    assert (np.sort(seats) == np.arange(5)).all() and not weights[2].any()


def test_a_slice_that_chase_did_not_end_has_the_rank_minus_one():
    ranks = arranged(np.ones((4, 3)), np.zeros(3), np.full(3, 4, np.int32), left=[1])[2]
    np.testing.assert_array_equal(ranks, [4, -1, 4])


def test_many_equal_values_go_by_place():
    d = np.repeat([[1.0], [-2.0], [1.0]], 20, axis=0)
    seats, _, _, values = arranged(d, np.zeros(1), np.full(1, 60, np.int32), whole=False)
    np.testing.assert_array_equal(seats[0], [*range(20, 40), *range(20), *range(40, 60)])
    assert values.shape == (1, 0)


@dtypes
@pytest.mark.parametrize("shape", [(3, 9, 6), (3, 6, 9), (1, 1, 1), (1, 1, 4)])
def test_multiply(shape, dtype):
    """B V' diag(weights) V, of the vectors in the first seats."""
    rng, p = np.random.default_rng(9), min(shape[1:])
    X, V = rng.normal(size=shape).astype(dtype), rng.normal(size=(shape[0], p, p)).astype(dtype)
    seats = np.stack([rng.permutation(p).astype(np.int32) for _ in X])
    weights, ranks = rng.random((len(X), p)).astype(dtype), np.array([p, p // 2, -1], np.int32)[: len(X)]
    out = np.full_like(X, np.nan)
    chase_twins.multiply(X, V, seats, weights, ranks, out)
    for k, B in enumerate(tall(X)):
        kept = max(ranks[k], 0)
        rows = V[k, seats[k, :kept]].astype(np.float64)
        expected = B @ rows.T @ np.diag(weights[k, :kept]) @ rows
        np.testing.assert_allclose(tall(out)[k], expected, atol=20 * BOUND[dtype])


def test_the_result_does_not_depend_on_addresses():
    X, found = np.random.default_rng(0).normal(size=(64, 64)).astype(np.float32), set()
    sizes = {"B": 65 * 64, "reflections": 64 * 64, "w": 64, "v": 64, "total": 64}
    for order in itertools.permutations(("w", "v", "total")):
        for gap in (0, 8, 24, 40, 64):
            memory, place, parts = np.zeros(9000, np.float32), gap, {}
            for name in (*order, "B", "reflections"):
                parts[name] = memory[place : place + sizes[name]]
                place += sizes[name] + gap
            B, reflections = parts["B"].reshape(65, 64), parts["reflections"].reshape(64, 64)
            B[:64] = X
            d, e = np.zeros(64, np.float32), np.zeros(65, np.float32)
            bidiagonal_twins._bidiagonalize_slice(B, d, e, reflections, parts["w"], parts["v"], parts["total"])
            found.add((*d, *e))
    assert len(found) == 1
