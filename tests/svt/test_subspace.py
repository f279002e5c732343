"""Thresholding in a subspace: the kernel against its twin, the method on the CPU against LAPACK."""

import sys

import numpy as np
import pytest

from gpukit.errors import DeviceError, ParameterError
from gpukit.runtime.thread_count import limit_threads
from gpukit.svt.kernels import subspace as subspace_kernels
from gpukit.svt.plan import bytes_of_whiten
from gpukit.svt.products import CpuTools
from gpukit.svt.subspace import SubspaceThresholding, choose_k
from gpukit.svt.twins import subspace as subspace_twins
from svt import inputs

REALS = (np.float32, np.float64)


@pytest.fixture(autouse=True)
def one_thread():
    """The slices here are few and small: waiting for another thread takes longer."""
    with limit_threads(1):
        yield


def exact(X, lam, cap=None):
    """Return (Y, ranks) by LAPACK in float64."""
    U, S, V = np.linalg.svd(np.asarray(X, np.float64), full_matrices=False)
    kept = np.maximum(S - np.reshape(lam, (-1, 1)), 0)
    if cap is not None:
        kept[np.arange(kept.shape[1]) >= np.broadcast_to(cap, len(X))[:, None]] = 0
    return (U * kept[:, None, :]) @ V, (kept > 0).sum(axis=1)


def error(Y, expected):
    """Return the largest relative error of a slice."""
    lengths = np.linalg.norm(expected, axis=(1, 2))
    return (np.linalg.norm(np.asarray(Y, np.float64) - expected, axis=(1, 2)) / np.maximum(lengths, 1e-300)).max()


def stack(m, n, count=6, rank=3, noise=1e-3, seed=0):
    """Return (count, m, n) float64 of a rank, and noise."""
    rng = np.random.default_rng(seed)
    return np.stack([inputs.low_rank(m, n, rank, noise, rng) for _ in range(count)])


def work_on(X, lam, cap=None, k=8, **options):
    """Return (SubspaceThresholding, its copy of X)."""
    X = X.copy()
    lam = np.full(len(X), lam, X.dtype)
    cap = None if cap is None else np.full(len(X), cap, np.int32)
    return SubspaceThresholding(X, lam, cap, k, **options), X


def grams(k, real):
    """Return Grams (4, k, k): of good columns, of graded ones, with a repeated column and a zero one, and of zeros."""
    rng = np.random.default_rng(k)
    A = rng.normal(size=(4, 12, k))
    A[1] *= np.logspace(0, -5, k)
    A[2, :, k - 1], A[2, :, k // 2] = A[2, :, 0], 0
    A[3] = 0
    return A.astype(real), np.ascontiguousarray(A.transpose(0, 2, 1) @ A, real)


def whiten(gram, shift=0.0):
    """Return the result of the CPU twin."""
    out = np.full_like(gram, np.nan)
    subspace_twins.whiten(gram, gram.dtype.type(shift), out)
    return out


def by_kernel(gram, shift):
    """Return the result of the kernel."""
    from gpukit._cuda import cuda, with_shared_memory

    (count, k, _), real = gram.shape, gram.dtype.type
    threads, nbytes = subspace_kernels.threads_for(k), bytes_of_whiten(k, gram.itemsize)
    out = cuda.to_device(np.full_like(gram, np.nan))
    launch = with_shared_memory(subspace_kernels.make_whiten(real), count, threads, nbytes)
    launch(cuda.to_device(gram), shift, out)
    return out.copy_to_host()


@pytest.mark.kernel
@pytest.mark.parametrize("real", REALS)
@pytest.mark.parametrize("k", [1, 2, 5, 9])
def test_whiten_kernel_is_its_twin(k, real):
    _, gram = grams(k, real)
    for shift in (real(0.0), real(1e-3)):
        twin, out = whiten(gram, shift), by_kernel(gram, shift)
        np.testing.assert_array_equal(out == 0, twin == 0)
        largest = abs(twin).max(axis=1, keepdims=True)  # of a column; its small numbers are small differences
        assert (abs(out - twin) <= (2e-5 if real == np.float32 else 1e-12) * largest).all()


@pytest.mark.kernel
@pytest.mark.parametrize("real", REALS)
def test_a_column_next_to_nothing_beside_the_largest_is_left_out(real):
    gram = np.diag([4.0, 4.0 * float(np.finfo(real).eps) ** 2.5]).astype(real)[None]
    out = by_kernel(gram, real(0.0))
    np.testing.assert_array_equal(out, whiten(gram))
    np.testing.assert_array_equal(out[0], [[0.5, 0.0], [0.0, 0.0]])


@pytest.mark.parametrize("real", REALS)
@pytest.mark.parametrize("k", [1, 2, 5, 9])
def test_whitened_columns_are_orthonormal_or_zero(k, real):
    A, gram = grams(k, real)
    out = whiten(gram)
    stays = np.ones((4, k), bool)
    stays[2, [k - 1, k // 2]], stays[3] = False, False
    stays[2, 0] = k > 1  # the first of two equal ones stays, unless it is the zero column
    products = (A.astype(np.float64) @ out).transpose(0, 2, 1) @ (A.astype(np.float64) @ out)
    np.testing.assert_allclose(products, stays[:, :, None] * np.eye(k), atol=1e-4 if real == np.float32 else 1e-9)
    assert not np.tril(out, -1).any()


@pytest.mark.parametrize("scale", [2.0**-40, 2.0**40])
@pytest.mark.parametrize("k", [2, 9])
def test_large_and_small_numbers_are_whitened_alike(k, scale):
    """Products of two of gram's numbers would overflow."""
    _, gram = grams(k, np.float32)
    np.testing.assert_array_equal(whiten(gram * np.float32(scale**2)) * np.float32(scale), whiten(gram))


def test_the_shift_is_a_share_of_the_diagonal():
    np.testing.assert_allclose(whiten(np.diag([4.0, 1e-6])[None], 0.21)[0].diagonal(), [1 / 2.2, 1e3 / 1.1])


@pytest.mark.parametrize("real", REALS)
@pytest.mark.parametrize("condition", [1.0, 1e3, 1e6])
def test_orth_survives_conditions(real, condition):
    rng = np.random.default_rng(1)
    A = np.stack([inputs.rotated(np.geomspace(1, 1 / condition, 8), 30, 8, rng) for _ in range(4)]).astype(real)
    work, _ = work_on(np.zeros((4, 30, 20), real), 0.0)
    near = np.empty_like(A)
    work.orth(A, near, np.empty_like(A))
    P, eps = near.astype(np.float64), np.finfo(real).eps
    np.testing.assert_allclose(P.transpose(0, 2, 1) @ P, np.broadcast_to(np.eye(8), (4, 8, 8)), atol=20 * eps)
    assert abs(A - P @ (P.transpose(0, 2, 1) @ A)).max() < 20 * eps


@pytest.mark.parametrize("real, rounds, bound", [(np.float32, 1, 1e-4), (np.float64, 1, 1e-4), (np.float64, 4, 1e-11)])
@pytest.mark.parametrize("m, n", [(50, 50), (24, 60), (60, 24)])
def test_slices_that_move_slowly(m, n, real, rounds, bound):
    X, dX = stack(m, n), stack(m, n, noise=0.0, seed=1)
    lam = 0.3 * np.linalg.svd(X, compute_uv=False)[:, 2].min()
    work, live = work_on(X.astype(real), lam)
    for t in range(5):
        now = (X + 0.01 * t * dX).astype(real)
        live[...] = now
        work.run(rounds)
        expected, ranks = exact(now, lam)
    assert error(live, expected) < bound
    np.testing.assert_array_equal(work.ranks, ranks)
    assert work.overflowed == 0 and work.ranks.dtype == np.int32


def test_a_warm_basis_helps():
    """With slowly decreasing values, every call is more accurate."""
    rng = np.random.default_rng(5)
    X = np.stack([inputs.rotated(0.85 ** np.arange(40), 40, 40, rng) for _ in range(4)])
    expected, _ = exact(X, 0.5)
    work, live = work_on(X, 0.5)
    errors = []
    for _ in range(6):
        live[...] = X
        work.run()
        errors.append(error(live, expected))
    assert errors[5] < 0.1 * errors[0] and errors == sorted(errors, reverse=True)


@pytest.mark.parametrize("real", REALS)
def test_projection_to_a_cap(real):
    X = stack(30, 40, rank=5).astype(real)
    work, live = work_on(X, 0.0, cap=4, k=12)
    work.run(4)
    expected, _ = exact(X, 0.0, 4)
    assert error(live, expected) < (1e-5 if real == np.float32 else 1e-10)
    assert (work.ranks == 4).all() and work.overflowed == 0
    values = np.linalg.svd(X.astype(np.float64), compute_uv=False)
    np.testing.assert_allclose(work.values[:, :5], values[:, :5], rtol=1e-5 if real == np.float32 else 1e-10)
    assert work.values.shape == (6, 12)


@pytest.mark.parametrize("cap, overflowed", [(None, 2), (9, 2), (8, 0), (3, 0)])
def test_slices_that_overflow_are_exact(cap, overflowed, monkeypatch):
    monkeypatch.setattr(CpuTools, "SCRATCH", 40_000)  # several batches
    X = stack(30, 40)
    rng = np.random.default_rng(3)
    X[[1, 4]] += rng.normal(size=(2, 30, 12)) @ rng.normal(size=(2, 12, 40))
    lam = 2.0
    work, live = work_on(X, lam, cap)
    assert len(work.parts) > 1
    work.run()
    expected, ranks = exact(X, lam, cap)
    assert work.overflowed == overflowed
    np.testing.assert_array_equal(work.ranks, ranks)
    if overflowed:
        assert error(live, expected) < 1e-7 and error(live[[1, 4]], expected[[1, 4]]) < 1e-12
        np.testing.assert_allclose(work.values[[1, 4]], np.linalg.svd(X[[1, 4]], compute_uv=False)[:, :8], rtol=1e-12)


def test_all_slices_overflow():
    X = np.random.default_rng(2).normal(size=(3, 20, 20))
    work, live = work_on(X, 0.1)
    work.run()
    assert work.overflowed == 3 and error(live, exact(X, 0.1)[0]) < 1e-12


@pytest.mark.parametrize("real", REALS)
def test_zeros_and_deficient_slices(real):
    X = stack(20, 26, rank=2, noise=0.0).astype(real)
    X[[0, 3]] = 0
    work, live = work_on(X, 0.0)
    for _ in range(3):
        live[...] = X
        work.run()
    np.testing.assert_allclose(live, X, atol=2e-5 if real == np.float32 else 1e-12)
    np.testing.assert_array_equal(work.ranks, [0, 2, 2, 0, 2, 2])
    assert not live[[0, 3]].any()
    live[...] = later = stack(20, 26, rank=4, seed=9).astype(real)  # zero slices become nonzero
    work.lam[:] = 0.5
    work.run(2)
    assert error(live, exact(later, 0.5)[0]) < 1e-4 and work.overflowed == 0


def test_a_subspace_can_grow_from_nothing():
    work, live = work_on(np.zeros((2, 20, 20)), 0.5)
    for _ in range(3):
        live[...] = 0
        work.run()
    assert work.zero_columns.all()
    live[...] = X = stack(20, 20, 2)
    work.run(2)
    assert error(live, exact(X, 0.5)[0]) < 1e-6


def test_everything_below_lam_is_zero():
    work, live = work_on(stack(20, 20), 1e6)
    work.run()
    assert not live.any() and not work.ranks.any()


def test_grow_keeps_what_is_there():
    X = stack(40, 40, rank=10)
    work, live = work_on(X, 0.2)
    work.run()
    assert work.overflowed == 6
    old = work.basis.copy()
    work.grow(16)
    np.testing.assert_array_equal(work.basis[:, :, :8], old)
    live[...] = X
    work.run()
    assert work.k == 16 and work.overflowed == 0 and error(live, exact(X, 0.2)[0]) < 1e-6


@pytest.mark.parametrize("k", [7, 20, 21])
def test_k_must_fit(k):
    work, _ = work_on(np.zeros((2, 20, 30)), 0.0)
    with pytest.raises(ParameterError, match=f"at least 8 and less than 20; it is {k}"):
        work.grow(k)


@pytest.mark.parametrize("real, bound", [(np.float32, 1e-5), (np.float64, 1e-9)])
def test_leading_values(real, bound):
    X = stack(30, 45, rank=5).astype(real)
    work, live = work_on(X, 0.0, k=12)
    values = work.leading(5)
    expected = np.linalg.svd(X.astype(np.float64), compute_uv=False)[:, :5]
    assert values.shape == (6, 5) and values.dtype == real
    np.testing.assert_allclose(values, expected, rtol=bound)
    np.testing.assert_array_equal(live, X)
    gaussian = np.random.default_rng(0).normal(size=(3, 40, 40))
    largest = np.linalg.svd(gaussian, compute_uv=False)[:, 0]
    few, many = (work_on(gaussian, 0.0)[0].leading(1, rounds)[:, 0] for rounds in (1, 20))
    assert (few <= largest * (1 + 1e-12)).all() and (abs(many - largest) < 0.5 * abs(few - largest)).all()


def test_batches_and_arrays_as_they_are_then(monkeypatch):
    """Batches do not change results, and run() reads the current lam and cap."""
    X = stack(30, 30)
    whole, expected = work_on(X, 1.0, cap=20)
    monkeypatch.setattr(CpuTools, "SCRATCH", 1)
    work, live = work_on(X, 1.0, cap=20)
    assert len(whole.parts) == 1 and len(work.parts) == 6
    for one in (whole, work):
        one.lam[:], one.cap[:] = np.linspace(0.5, 9, 6), [1, 2, 3, 4, 20, 20]
        one.run()
    assert error(expected, exact(X, whole.lam, whole.cap)[0]) < 1e-6
    np.testing.assert_allclose(live, expected, atol=1e-12)
    work.lam[:], work.cap[:] = 0, 1
    live[...] = X
    work.run(3)
    assert (work.ranks == 1).all() and error(live, exact(X, 0.0, 1)[0]) < 1e-6


def test_the_seed_decides():
    X = np.random.default_rng(0).normal(size=(3, 30, 30))
    results = []
    for seed in (1, 1, 2):
        work, live = work_on(X, 9.0, seed=seed)
        work.run()
        results.append(live)
    np.testing.assert_array_equal(results[0], results[1])
    assert (results[0] != results[2]).any()


@pytest.mark.parametrize(
    "rank, p, k",
    [
        (0, 50, 8),
        (2, 50, 8),
        (3, 50, 16),
        (5, 50, 16),
        (6, 50, 16),
        (7, 50, 24),
        (11, 50, 0),
        (1, 12, 0),
        (30, 512, 64),
    ],
)
def test_columns_for_a_rank(rank, p, k):
    assert choose_k(rank, p) == k


def test_without_cupy_the_message_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(DeviceError, match=r"pip install 'gpukit\[cuda\]'"):
        SubspaceThresholding(np.zeros((1, 20, 20)), np.zeros(1), None, 8, device_is_gpu=True)


@pytest.mark.gpu
@pytest.mark.parametrize("real", REALS)
@pytest.mark.parametrize("m, n", [(50, 50), (24, 60), (60, 24)])
def test_both_devices_agree(m, n, real):
    import cupy

    X = stack(m, n, count=5).astype(real)
    X[2] = np.random.default_rng(1).normal(size=(m, n))  # overflows
    lam, bound = np.full(5, 0.8, real), 1e-4 if real == np.float32 else 1e-9
    here, live = work_on(X, 0.8)
    there_live = cupy.asarray(X)
    there = SubspaceThresholding(there_live, cupy.asarray(lam), None, 8, device_is_gpu=True)
    np.testing.assert_allclose(there.leading(3), here.leading(3), rtol=bound)
    for _ in range(2):
        live[...] = X
        there_live[...] = cupy.asarray(X)
        here.run(2)
        there.run(2)
    assert error(there_live.get(), live.astype(np.float64)) < bound
    np.testing.assert_array_equal(there.ranks, here.ranks)
    assert there.overflowed == here.overflowed == 1
    np.testing.assert_allclose(there.values[:, :3], here.values[:, :3], rtol=bound)


def test_a_slice_does_not_hang_on_which_others_there_are():
    """Partitioned slices have the same results as all slices, with renewed columns for slices of low rank."""
    X = stack(30, 28, rank=3, noise=0.0)
    whole, all_of = work_on(X, 1e-3)
    halves = [work_on(X[part], 1e-3) for part in (slice(0, 1), slice(1, None))]
    for turn in range(3):
        for work, Y in ((whole, all_of), *halves):
            Y[...] = (X if work is whole else X[:1] if work is halves[0][0] else X[1:]) + 1e-6 * turn
            work.run()
        np.testing.assert_array_equal(all_of, np.concatenate([Y for _, Y in halves]))
        np.testing.assert_array_equal(whole.basis, np.concatenate([work.basis for work, _ in halves]))
