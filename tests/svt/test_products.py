"""Thresholding by matrix products: the polynomials, and results against LAPACK."""

import numpy as np
import pytest
from support import SIMULATED, thinned

from gpukit.svt import products
from gpukit.svt.kernels import bulge_chasing as products_kernels
from gpukit.svt.products import ProductThresholding
from gpukit.svt.twins.bulge_chasing import combine
from svt import inputs, naive

BOUND = {np.float32: 1e-5, np.float64: 1e-12}
dtypes = pytest.mark.parametrize("dtype", BOUND)


def value(polynomials, x):
    """Apply the polynomials to numbers x."""
    for a, b, c in polynomials:
        x = a * x + b * x**3 + c * x**5
    return x


@pytest.mark.parametrize("goal", [1e-7, 1e-15])
@pytest.mark.parametrize("least", [1e-12, 1e-5, 0.01, 0.2, 0.49, 0.7, 0.9999, 1.0])
def test_steps_bring_an_interval_next_to_one_and_keep_all_of_it_below(least, goal):
    found = products.steps(least, goal)
    x = np.concatenate((np.geomspace(least, 1, 5000), np.linspace(least, 1, 5000)))
    assert abs(value(found, x) - 1).max() <= max(4 * goal, 4e-15)
    for count in range(1, len(found)):
        part = value(found[:count], np.linspace(0, 1, 5000))
        assert part.min() >= 0 and part.max() <= 1.51  # nothing changes its sign
    assert len(found) <= 3 + np.log(1 / least) / np.log(3.6) + 1.5


def test_the_steady_polynomial_takes_nothing_large_far_down():
    x = np.linspace(0, 1.0099, 100_001)
    y = value([products.STEADY], x)
    assert y.max() == pytest.approx(1, abs=1e-4) and y[x > 0.15].min() == pytest.approx(0.5, abs=1e-4)
    assert y[x > 0.15].min() > 0.4999 and value([products.STEADY], 1e-9) / 1e-9 > 3.65


@pytest.mark.parametrize("least, most", [(0.5, 1.0), (0.05, 1.0), (0.9, 1.1)])
def test_nearest_is_off_alike_at_four_places(least, most):
    a, b, c, off = products.nearest(least, most)
    x = np.linspace(least, most, 200_001)
    error = value([(a, b, c)], x) - 1
    assert abs(error).max() == pytest.approx(off, rel=1e-6)
    signs = np.sign(error[abs(error) > 0.999 * off])
    assert np.count_nonzero(np.diff(signs)) == 3


def close(X, lam, dtype, ranks=True):
    """Thresholded X equals LAPACK's, except for rounding; so do the ranks."""
    X, lam = np.ascontiguousarray(X, dtype), np.asarray(lam, dtype)
    Y = np.full_like(X, np.nan)
    found = ProductThresholding(X, lam, Y).run()
    for k, (expected, S) in enumerate(naive.threshold(X, lam)):
        assert np.linalg.norm(Y[k] - expected) <= BOUND[dtype] * np.linalg.norm(X[k].astype(np.float64))
        if ranks:
            assert found[k] == (S > max(lam[k], {np.float32: 1e-6, np.float64: 1e-14}[dtype] * S[0])).sum()


@dtypes
@pytest.mark.parametrize(
    "shape, share",
    thinned([(3, 40, 40), (2, 33, 20), (2, 20, 33), (2, 1, 7), (1, 1, 1), (1, 130, 130)], [0.0, 0.02, 0.3, 0.8, 1.5]),
)
def test_gaussian_slices(shape, share, dtype):
    X = np.random.default_rng(1).normal(size=shape)
    close(X, [share * S[0] for _, S, _ in naive.decompose(X)], dtype, ranks=share > 0)


@dtypes
def test_thresholds_far_above_leave_zeros(dtype):
    X = np.random.default_rng(6).normal(size=(3, 9, 12)).astype(dtype)
    out = np.full_like(X, np.nan)
    ranks = ProductThresholding(X, np.array([100, 1e6, 0.1], dtype), out).run()
    assert not out[:2].any() and out[2].any() and ranks.tolist() == [0, 0, 9]


@pytest.mark.parametrize("share, name, dtype", thinned([0.1, 1e-4], inputs.SLICES, [np.float32, np.float64], share=2))
def test_awkward_slices(name, share, dtype):
    X = inputs.slices(name, dtype)
    close(X, [share * S[0] for _, S, _ in naive.decompose(X)], dtype, ranks=False)


@dtypes
@pytest.mark.parametrize(
    "values",
    [
        np.ones(60),
        np.logspace(0, -12, 60),
        0.3 + np.linspace(-1e-4, 1e-4, 60),
        np.r_[1.0, np.full(59, 0.3 + 1e-6)],
        np.r_[1.0, np.full(59, 0.3 - 1e-6)],
        np.r_[np.linspace(1, 2, 5), np.full(55, 1e-3)],
    ],
)
@pytest.mark.parametrize("lam", [0.3, 1e-3, 0.0])
def test_values_next_to_the_threshold_and_of_all_sizes(values, lam, dtype):
    rng = np.random.default_rng(2)
    U, V = (np.linalg.qr(rng.normal(size=(60, 60)))[0] for _ in range(2))
    close((U * values @ V)[None], [lam], dtype, ranks=False)


def test_slices_go_in_batches_and_again():
    X, lam = np.random.default_rng(3).normal(size=(7, 12, 9)), np.linspace(0, 4, 7)
    there = np.empty_like(X)
    work = ProductThresholding(there, lam, there)
    work.parts = [slice(0, 3), slice(3, 6), slice(6, 7)]
    for _ in range(2):
        there[...] = X
        ranks = work.run()
        for k, (expected, S) in enumerate(naive.threshold(X, lam)):
            np.testing.assert_allclose(there[k], expected, atol=1e-12)
            assert ranks[k] == (S > lam[k]).sum()


def test_they_pay_for_large_slices_where_cupy_is(monkeypatch):
    monkeypatch.setattr(products.importlib.util, "find_spec", lambda name: name == "cupy")
    assert products.pays((9, 129, 200)) and products.pays((9, 200, 129)) and not products.pays((9, 128, 512))
    monkeypatch.setattr(products.importlib.util, "find_spec", lambda name: None)
    assert not products.pays((9, 129, 200))


def test_memory_is_what_is_allocated(monkeypatch):
    X = np.zeros((9, 30, 20))
    monkeypatch.setattr(products, "SCRATCH", 4 * 8 * (3 * 30 + 5 * 20) * 20)
    work = ProductThresholding(X, np.zeros(9), X)
    allocated = sum(array.nbytes for array in work.tall + work.square)
    assert [part.stop for part in work.parts] == [3, 6, 9]
    assert products.memory_needed(X.shape, X.dtype) == X.nbytes + allocated
    monkeypatch.setattr(products, "SCRATCH", 1)
    assert products.batch_of((9, 30, 20), 8) == 1


@pytest.mark.kernel
@dtypes
@pytest.mark.parametrize("shape, grid", [((1, 1, 1), (1, 1)), ((3, 5, 5), (1, 2)), ((2, 9, 9), (3, 3))])
@pytest.mark.parametrize("order", ["forward", "reversed"] if SIMULATED else ["forward"])
def test_combine_is_its_twin(shape, grid, dtype, order, monkeypatch):
    from gpukit._cuda import cuda

    monkeypatch.setenv("GPUKIT_SIM_ORDER", order)
    Y, Z = np.random.default_rng(4).normal(size=(2, *shape)).astype(dtype)
    factors, out = [dtype(factor) for factor in (1.5, -0.25, 0.125)], cuda.to_device(np.full(shape, np.nan, dtype))
    products_kernels.combine[grid, 32](cuda.to_device(Y), cuda.to_device(Z), *factors, out)
    twin = np.full(shape, np.nan, dtype)
    combine(Y, Z, *factors, twin)
    expected = 1.5 * np.eye(shape[1]) - 0.25 * Y.astype(np.float64) + 0.125 * Z
    np.testing.assert_allclose(twin, expected, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(out.copy_to_host(), twin, rtol=1e-6, atol=1e-6)


@pytest.mark.gpu
@dtypes
@pytest.mark.parametrize("shape", [(40, 50, 50), (3, 300, 200), (3, 200, 300), (2, 512, 512)])
def test_on_a_gpu(shape, dtype):
    import cupy

    X, lam = np.random.default_rng(5).normal(size=shape).astype(dtype), np.full(shape[0], 4, dtype)
    there = cupy.asarray(X)
    ranks = ProductThresholding(there, cupy.asarray(lam), there, on_gpu=True).run()
    for k, (expected, S) in enumerate(naive.threshold(X, lam)):
        assert np.linalg.norm(there[k].get() - expected) <= BOUND[dtype] * np.linalg.norm(X[k].astype(np.float64))
        assert ranks[k] == (S > 4).sum()
