"""Thresholding along a path: subspace width by rank, fallback to whole slices."""

import numpy as np
import pytest

from gpukit.svt.plan import bytes_of_whiten, widest_subspace
from gpukit.svt.subspace import SMALL, WarmThresholding, choose_columns, pays
from svt import naive

RNG = np.random.default_rng(8)
N, m, n = 12, 40, 50
BASE = RNG.normal(size=(N, m, 4)) @ RNG.normal(size=(N, 4, n)) + 1e-2 * RNG.normal(size=(N, m, n))
DRIFT = 0.05 * RNG.normal(size=(N, m, n))


def whole(X, lam):
    """Return LAPACK's result, and the ranks."""
    answer, values = (np.array(part) for part in zip(*naive.threshold(X, lam)))
    return answer, (values > lam[:, None]).sum(axis=1)


@pytest.mark.parametrize("dtype, bound", [(np.float32, 1e-4), (np.float64, 1e-4)])
def test_a_path_is_that_of_whole_slices(dtype, bound):
    X = np.empty(BASE.shape, dtype)
    warm, widths = WarmThresholding(X), []
    for number in range(10):
        X[...] = BASE + DRIFT * 0.7**number
        lam = np.full(N, 60 * 0.6**number)
        expected, ranks = whole(X, lam)
        warm.run(lam)
        np.testing.assert_array_equal(warm.ranks, ranks)
        assert np.linalg.norm(X - expected) <= bound * max(np.linalg.norm(expected), 1)
        widths.append(warm.subspace.k)
    assert widths == sorted(widths) and widths[-1] > widths[0]


def test_ranks_that_no_subspace_holds_are_done_whole_and_exactly():
    X = RNG.normal(size=(N, m, n))
    kept, lam = X.copy(), np.full(N, 0.5)
    warm = WarmThresholding(X)
    for _ in range(3):
        X[...] = kept
        expected, ranks = whole(X, lam)
        warm.run(lam)
        np.testing.assert_array_equal(warm.ranks, ranks)
        np.testing.assert_allclose(X, expected, atol=1e-10)
    assert warm.values is None  # the last call did not use the subspace


def test_a_cap_projects():
    X = BASE.copy()
    cap = np.where(np.arange(N) % 3 == 0, 0, 4).astype(np.int32)
    U, S, V = np.linalg.svd(BASE, full_matrices=False)
    expected = (U[:, :, :4] * S[:, None, :4]) @ V[:, :4] * (cap > 0)[:, None, None]
    warm = WarmThresholding(X)
    warm.run(np.zeros(N), cap)
    np.testing.assert_array_equal(warm.ranks, cap)
    assert np.linalg.norm(X - expected) <= 1e-4 * np.linalg.norm(expected)


def test_leading_values_come_from_below_and_leave_the_slices():
    X = BASE.copy()
    values = WarmThresholding(X).leading(1)[:, 0]
    exact = np.linalg.norm(BASE, 2, axis=(1, 2))
    assert (values <= exact * (1 + 1e-12)).all() and (values >= 0.99 * exact).all()
    np.testing.assert_array_equal(X, BASE)


@pytest.mark.gpu
@pytest.mark.parametrize("shape", [(3, 140, 150), (3, 150, 140), (2, 60, 200)])
def test_whole_slices_on_a_gpu(shape):
    """Large ones by products; with caps, and small ones, by the kernels."""
    import cupy

    kept = RNG.normal(size=shape)
    X, lam, cap = cupy.asarray(kept), np.full(shape[0], 3.0), np.full(shape[0], 7, np.int32)
    warm = WarmThresholding(X, on_gpu=True)
    warm.is_warm = False
    for _ in range(2):
        X[...] = cupy.asarray(kept)
        expected, ranks = whole(kept, lam)
        warm.run(lam)
        np.testing.assert_array_equal(warm.ranks, ranks)
        np.testing.assert_allclose(X.get(), expected, atol=1e-10)
    assert (warm.multiplied is None) == (min(shape[1:]) < 130) == (warm.exact is not None)
    X[...] = cupy.asarray(kept)
    warm.run(lam, cap)
    np.testing.assert_array_equal(warm.ranks, cap)
    U, S, V = np.linalg.svd(kept, full_matrices=False)
    np.testing.assert_allclose(X.get(), (U[:, :, :7] * (S[:, None, :7] - 3)) @ V[:, :7], atol=1e-10)


def test_widths():
    assert not pays((9, SMALL, 400), False) and pays((9, SMALL + 1, 400), False)
    assert not pays((9, 128, 128), True) and pays((9, 130, 130), True)
    assert choose_columns(51, 512, True) == 72 and choose_columns(300, 512, True) == 0
    assert choose_columns(5, 50, False) == 16 and choose_columns(20, 50, False) == 0
    assert choose_columns(200, 512, True) == 224 and choose_columns(200, 512, True, 8) == 0


@pytest.mark.parametrize("room", [64 << 10, 99 << 10, 163 << 10, 227 << 10])
@pytest.mark.parametrize("size", [4, 8])
def test_a_subspace_is_no_wider_than_shared_memory(room, size):
    k = widest_subspace(size, room)
    assert k * k * size < bytes_of_whiten(k, size) <= room < bytes_of_whiten(k + 32, size)
    assert choose_columns(k - 1, 512, True, size, room) == k and choose_columns(k, 512, True, size, room) == 0
