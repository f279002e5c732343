"""Large slices on the CPU, by LAPACK: the results of the twins, from the Gram matrix if lam permits it."""

import numpy as np
import pytest

from gpukit.errors import DataError, GpukitError
from gpukit.svt import cpu, singular_value_threshold
from svt import inputs, naive

RNG = np.random.default_rng(0)


def check(X, lam, whole):
    """Y, values and ranks equal the oracle's."""
    out = np.full_like(X, np.nan)
    values, ranks = cpu.threshold_by_lapack(X, lam, out, whole)
    for k, (expected, S) in enumerate(naive.threshold(X, lam)):
        assert np.linalg.norm(out[k] - expected) <= 1e-13 * np.linalg.norm(X[k])
        assert abs(ranks[k] - (S > max(lam[k], 1e-14 * S[0])).sum()) <= (abs(S - lam[k]) <= 1e-13 * S[0]).sum()
        assert values.shape[1] == (len(S) if whole else 0)
        assert not whole or abs(values[k] - S).max() <= 1e-13 * S[0]


@pytest.mark.parametrize("name", inputs.SLICES)
@pytest.mark.parametrize("share", [*inputs.SHARES, 1e-3, 1e-6])
def test_awkward_slices(name, share):
    X = inputs.slices(name, np.float64)
    lam = np.array([share * S[0] for _, S, _ in naive.decompose(X)])
    for whole in (False, True):
        check(X, lam, whole)


@pytest.mark.parametrize("name, rank", [("rank-deficient", 4), ("equal columns", 5), ("rank 1", 1)])
def test_ranks_of_deficient_slices_count_no_rounding_error(name, rank):
    X = inputs.slices(name, np.float64)
    assert (cpu.threshold_by_lapack(X, np.zeros(len(X)), np.empty_like(X))[1] == rank).all()


@pytest.mark.parametrize("shape", [(3, 130, 200), (3, 200, 130), (1, 150, 150)])
def test_the_gram_matrix_serves_where_lam_is_not_too_small(shape, monkeypatch):
    """The solver is chosen per slice; return_values needs a decomposition."""
    X, asked = RNG.normal(size=shape), []
    decompose = np.linalg.svd
    largest = decompose(X, compute_uv=False)[:, 0]
    monkeypatch.setattr(np.linalg, "svd", lambda *a, **k: asked.append(1) or decompose(*a, **k))
    for lam, whole, decomposed in ((0.3, False, 0), (1e-4, False, len(X)), (0.3, True, len(X))):
        asked.clear()
        cpu.threshold_by_lapack(X, lam * largest, np.empty_like(X), whole)
        assert len(asked) == decomposed


def test_large_slices_of_float64_go_this_way():
    assert cpu.lapack_pays((5, 96, 300), np.float64) and cpu.lapack_pays((1, 512, 512), np.float64)
    assert not cpu.lapack_pays((5, 95, 300), np.float64) and not cpu.lapack_pays((5, 300, 300), np.float32)
    X = RNG.normal(size=(2, 140, 150))
    by_twins, by_lapack = np.empty_like(X), np.empty_like(X)
    cpu.threshold(X, np.full(2, 5.0), by_twins)
    cpu.threshold_by_lapack(X, np.full(2, 5.0), by_lapack)
    Y = singular_value_threshold(X, 5.0, device="cpu")
    np.testing.assert_array_equal(Y, by_lapack)
    assert (Y != by_twins).any()
    np.testing.assert_allclose(Y, by_twins, atol=1e-12)


@pytest.mark.parametrize("shape", [(3, 6, 9), (2, 9, 40), (2, 150, 140)])
@pytest.mark.parametrize("size", [1e-270, 4e307])
@pytest.mark.parametrize("share", [0.0, 1e-3, 0.3])
def test_ends_of_the_range(shape, size, share):
    """Return the oracle of scaled slices, scaled back, accurate to the spacing of the smallest numbers."""
    X = RNG.choice([-1.0, 1.0], size=shape) * RNG.uniform(0.5, 1.0, size=shape) * size
    power = -1000 if size > 1 else 1000
    near, ends = np.ldexp(X, power), np.finfo(np.float64)
    S = np.linalg.svd(near, compute_uv=False)
    with np.errstate(over="ignore"):
        lam = np.minimum(np.ldexp(share * S[:, 0], -power), ends.max)
    Y, values, ranks = singular_value_threshold(X, lam, device="cpu", return_values=True)
    alone = singular_value_threshold(X, lam, device="cpu")
    scaled = np.ldexp(lam, power)
    for k, (expected, own) in enumerate(naive.threshold(near, scaled)):
        bound = 1e-12 * np.linalg.norm(near[k]) + 9 * np.ldexp(ends.smallest_subnormal, power)
        assert np.linalg.norm(np.ldexp(Y[k], power) - expected) <= bound * len(own)
        assert np.linalg.norm(np.ldexp(alone[k], power) - expected) <= bound * len(own)
        with np.errstate(over="ignore"):
            right = np.ldexp(own, -power)
        np.testing.assert_allclose(values[k], right, rtol=1e-9, atol=1e-12 * size + 9 * ends.smallest_subnormal)
        assert ranks[k] == (own > scaled[k]).sum()


def test_a_failed_decomposition_is_reported(monkeypatch):
    def failing(*_args, **_kwargs):
        raise np.linalg.LinAlgError("SVD did not converge")

    monkeypatch.setattr(np.linalg, "svd", failing)
    with pytest.raises(GpukitError, match="SVD did not converge. Look for numbers of very different size"):
        singular_value_threshold(np.eye(130)[None], 0.0, device="cpu")


@pytest.mark.parametrize("size", [1e-320, 1e-272])
def test_slices_whose_squares_underflow_are_refused(size):
    X = np.ones((3, 4, 4))
    X[1] *= size
    with pytest.raises(DataError, match="multiply X and lam by a power of two"):
        singular_value_threshold(X, 0.0, device="cpu")
    X[1] = 0.0
    assert np.isfinite(singular_value_threshold(X, 0.0, device="cpu")).all()
