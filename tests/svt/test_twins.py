"""The CPU thresholding against LAPACK."""

import numpy as np
import pytest

from gpukit.svt import cpu, formulas
from svt import inputs, naive

BOUND = {np.float32: 1e-5, np.float64: 1e-12}


def norms(X):
    """Frobenius norms of slices."""
    return np.sqrt((np.asarray(X, np.float64) ** 2).sum(axis=(1, 2)))


@pytest.mark.parametrize("dtype", BOUND)
@pytest.mark.parametrize("name", inputs.SLICES)
def test_threshold_slices(name, dtype):
    X = inputs.slices(name, dtype)
    largest = np.array([S[0] for _, S in naive.threshold(X, 0)])
    for share in inputs.SHARES:
        lam = (share * largest).astype(dtype)
        expected, S = (np.array(part) for part in zip(*naive.threshold(X, lam)))
        for whole in (False, True):
            out = np.empty_like(X)
            values, ranks, sweeps = cpu.threshold(X, lam, out, whole)
            scale = norms(expected) if share < 0.5 else norms(X)
            assert (norms(out - expected) <= BOUND[dtype] * scale).all()
            assert sweeps.max() <= 14
            if whole:
                assert (abs(values - S) <= BOUND[dtype] * largest[:, None]).all()
            near = (abs(S - lam[:, None]) <= 10 * BOUND[dtype] * largest[:, None]) & (largest[:, None] > 0)
            assert (abs(ranks - (S > lam[:, None]).sum(axis=1)) <= near.sum(axis=1)).all()


def test_everything_below_lam_is_zero():
    X = inputs.slices("gaussian 50", np.float32)
    out = np.empty_like(X)
    values, ranks, sweeps = cpu.threshold(X, np.full(3, 100, np.float32), out)
    assert not out.any() and not ranks.any() and values.shape == (3, 0) and not sweeps.any()


def test_vectors_below_lam_are_left_alone():
    X = inputs.slices("nearly low-rank", np.float64)
    out = np.empty_like(X)
    _, ranks, few = cpu.threshold(X, np.full(3, 5.0), out)
    _, all_ranks, many = cpu.threshold(X, np.full(3, 5.0), out, True)
    assert (few < many).all() and (ranks == all_ranks).all()


def test_nothing_that_counts_is_left_alone():
    """Many short vectors in one direction: each is below lam, together they are not."""
    direction = np.ones((1, 40)) / np.sqrt(40)
    X = np.concatenate([0.3 * direction] * 30)[None] + 1e-3 * np.random.default_rng(1).normal(size=(1, 30, 40))
    (expected, S), = naive.threshold(X, 1.0)
    out = np.empty_like(X)
    _, ranks, _ = cpu.threshold(X, np.ones(1), out)
    assert S[0] > 1 and ranks[0] == 1
    np.testing.assert_allclose(out[0], expected, atol=1e-12)


@pytest.mark.parametrize("real", BOUND)
def test_rotation_makes_orthogonal(real):
    rng = np.random.default_rng(3)
    for exponent in (0, -3, -12):
        x, y = rng.normal(size=20).astype(real), (10.0**exponent * rng.normal(size=20)).astype(real)
        t, s, h = (real(number) for number in formulas.rotation(x @ x, y @ y, x @ y))
        u, v = (np.array(part, real) for part in zip(*(formulas.turned(p, q, s, h) for p, q in zip(x, y))))
        assert abs(t) <= 1 and u.dtype == real
        assert abs(u @ v) <= 30 * np.finfo(real).eps * np.sqrt((u @ u) * (v @ v))
        np.testing.assert_allclose(u @ u + v @ v, x @ x + y @ y, rtol=4 * np.finfo(real).eps)


def test_rotation_of_far_apart_lengths_does_not_overflow():
    t, s, h = formulas.rotation(np.float32(1), np.float32(1e-24), np.float32(1e-18))
    assert t == pytest.approx(-1e-18) and s == t and h == pytest.approx(t / 2)


@pytest.mark.parametrize("count", [2, 4, 6, 34])
def test_everybody_meets_once(count):
    met = [formulas.partner(np.uint32(pair), np.uint32(step), np.uint32(count))
           for step in range(count - 1) for pair in range(count // 2)]
    assert sorted(met) == [(i, j) for i in range(count) for j in range(i + 1, count)]
    for step in range(count - 1):
        assert len({player for pair in met[step * (count // 2):][:count // 2] for player in pair}) == count


@pytest.mark.parametrize("largest", [1.0, 0.75, 3e38, 1e-38, 1e-44])
def test_scale_is_a_power_of_two(largest):
    for real in BOUND:
        scale = formulas.binary_scale(real(largest))
        assert np.frexp(scale)[0] == 0.5 and (0.5 <= real(largest) * scale < 1 or scale == 2.0**127)
