"""Scalar formulas of the thresholding against float64 and numpy."""

import numpy as np
import pytest

from gpukit.svt import formulas
from svt import naive

REALS = (np.float32, np.float64)
real_types = pytest.mark.parametrize("real", REALS)


def eps(real):
    """Return the spacing of numbers at 1."""
    return float(np.finfo(real).eps)


@pytest.mark.parametrize("largest", [1.0, 0.75, 3e38, 1e-38, 1e-44])
@real_types
def test_scale_is_a_power_of_two(real, largest):
    scale = formulas.binary_scale(real(largest))
    assert np.frexp(scale)[0] == 0.5 and (0.5 <= real(largest) * scale < 1 or scale == 2.0**127)


@real_types
def test_scale_of_the_least_and_of_nothing(real):
    least = np.finfo(real).smallest_subnormal
    assert np.isfinite(formulas.binary_scale(least)) and formulas.binary_scale(least) > 1e37
    assert formulas.binary_scale(real(0)) == 1


@real_types
def test_reflection_leaves_one_number(real):
    rng = np.random.default_rng(1)
    for size in (1, 2, 40):
        for sign in (1, -1):
            x = rng.normal(size=size).astype(real)
            x[0] = sign * abs(x[0])
            alpha, factor = formulas.reflection(x[0], real(x @ x))
            u = x.astype(np.float64)
            u[0] -= np.float64(alpha)
            H = np.eye(size) - np.float64(factor) * np.outer(u, u)
            assert alpha * sign < 0  # the other sign would cancel
            np.testing.assert_allclose(H @ x, np.float64(alpha) * np.eye(size)[0], atol=20 * eps(real))
            np.testing.assert_allclose(H @ H.T, np.eye(size), atol=20 * eps(real))


@real_types
def test_nothing_is_not_reflected(real):
    assert formulas.reflection(real(0), real(0)) == (0, 0)
    assert formulas.reflection(real(1e-18), real(1e-36)) == (real(1e-18), 0)


@real_types
def test_givens_turns_g_away(real):
    rng = np.random.default_rng(2)
    for f, g in [*rng.normal(size=(50, 2)), (0, 1), (1, 0), (-3, 0), (0, -2), (1e-9, 1), (1, 1e-9), (1e-12, -1e-12)]:
        f, g = real(f), real(g)
        c, s, r = (np.float64(number) for number in formulas.givens(f, g))
        size = np.hypot(np.float64(f), np.float64(g))
        assert abs(c * c + s * s - 1) <= 2 * eps(real)
        assert abs(c * f + s * g - r) <= 2 * eps(real) * size and abs(c * g - s * f) <= 2 * eps(real) * size


@real_types
def test_givens_of_nothing_is_the_identity(real):
    tiny = real(np.finfo(real).tiny)
    assert formulas.givens(real(0), real(0)) == (1, 0, 0) and formulas.givens(tiny, tiny) == (1, 0, tiny)


@real_types
def test_givens_is_not_biased(real):
    """The error of c^2 + s^2 is random: its mean over n rotations shrinks by 1 / sqrt(n)."""
    pairs = np.random.default_rng(3).normal(size=(4000, 2)).astype(real)
    c, s = np.array([formulas.givens(*pair)[:2] for pair in pairs], np.longdouble).T
    off = (c * c + s * s - 1) / eps(real)
    assert off.std() < 0.45 and abs(off.mean()) < 0.04


@real_types
def test_smallest_of_two(real):
    rng = np.random.default_rng(4)
    for f, g, h in [
        *rng.normal(size=(50, 3)),
        *(rng.normal(size=(50, 3)) * 10.0 ** rng.integers(-6, 7, (50, 3))),
        (0, 1, 2),
        (1, 0, 2),
        (1, 1, 0),
        (0, 0, 0),
        (1, 1e6, 1),
        (1, 1, 1),
    ]:
        f, g, h = real(f), real(g), real(h)
        S = np.linalg.svd([[np.float64(f), np.float64(g)], [0, np.float64(h)]], compute_uv=False)
        right = abs(np.float64(f) * np.float64(h)) / S[0] if S[0] > 0 else 0  # numpy's is accurate to eps * S[0] only
        assert formulas.smallest_of_two(f, g, h) == pytest.approx(right, rel=10 * eps(real))


def test_smallest_of_two_does_not_overflow():
    for scale in (np.float32(1e30), np.float32(1e-30)):
        least = formulas.smallest_of_two(scale, scale, scale)
        assert least == pytest.approx(scale * (np.sqrt(5) - 1) / 2, rel=1e-6)


def test_start_of_a_block():
    e = np.array([0, 1, 1e-9, -1, 1, 0])
    assert [formulas.start_of(e, np.uint32(hi), 1e-6) for hi in range(5)] == [0, 0, 2, 2, 2]


@real_types
def test_shift_is_0_on_zeros(real):
    d, e = np.array([1, 2, 3], real), np.array([0, 1, 1, 0], real)
    lo, hi, tolerance = np.uint32(0), np.uint32(2), real(1e-6)
    assert formulas.shift_of(d, e, lo, hi, tolerance, False) == formulas.smallest_of_two(d[1], e[2], d[2]) > 1
    assert formulas.shift_of(d, e, lo, hi, tolerance, True) == formulas.smallest_of_two(d[1], e[2], d[2])
    for place in range(3):
        other = d.copy()
        other[place] = 1e-7
        assert formulas.shift_of(other, e, lo, hi, tolerance, False) == 0


def sweep(d, e, lo, hi, tolerance, turns, at):
    """Run a sweep with the shift of formulas.chase."""
    lo, hi = np.uint32(lo), np.uint32(hi)
    shift = formulas.shift_of(d, e, lo, hi, tolerance, False)
    return formulas.sweep(d, e, lo, hi, tolerance, shift, turns, np.uint32(at))


@real_types
@pytest.mark.parametrize("zero", [0, 3, 7, 8])
def test_a_sweep_without_shift_takes_a_zero_off_the_diagonal(real, zero):
    """Rotate the columns by the returned rotations."""
    rng = np.random.default_rng(6)
    d, e = rng.normal(size=9).astype(real), np.r_[0, rng.normal(size=8), 0].astype(real)
    d[zero] = real(1e-9)
    lo, hi, nothing = np.uint32(0), np.uint32(8), real(1e-8)
    assert formulas.shift_of(d, e, lo, hi, nothing, False) == 0 and d[zero] == 0
    before, turns = naive.bidiagonal(d, e), np.full((20, 2), np.nan, real)
    formulas.sweep_unshifted(d, e, lo, hi, nothing, turns, np.uint32(3))
    after, Q = naive.bidiagonal(d, e), naive.turned(np.eye(9), [(0, 8)], turns[3:11])
    assert np.isnan(turns[:3]).all() and np.isnan(turns[11:]).all() and e[0] == 0
    np.testing.assert_allclose(after.T @ after, Q @ before.T @ before @ Q.T, atol=50 * eps(real))
    assert abs(d[8]) <= 8 * eps(real) and abs(e[8]) <= 8 * eps(real)


@real_types
def test_a_sweep_turns_the_columns_as_it_says(real):
    """B with rotated columns has the Gram matrix of the new B: the other rotations are of rows."""
    rng = np.random.default_rng(5)
    d, e = rng.normal(size=9).astype(real), np.r_[0, rng.normal(size=8), 0].astype(real)
    before = naive.bidiagonal(d, e)
    turns = np.full((20, 2), np.nan, real)
    split, positive = sweep(d, e, 0, 8, real(1e-9), turns, 3)
    assert positive
    after, Q = naive.bidiagonal(d, e), naive.turned(np.eye(9), [(0, 8)], turns[3:11])
    assert split == 0 and np.isnan(turns[:3]).all() and np.isnan(turns[11:]).all()
    np.testing.assert_allclose(after.T @ after, Q @ before.T @ before @ Q.T, atol=50 * eps(real))
    assert abs(e[8]) < 0.5 * abs(before[7, 8])  # it converges


def test_a_sweep_stays_in_its_block_and_says_where_it_falls_apart():
    d, e = np.arange(1.0, 8), np.array([0, 0, 1, 1e-12, 1, 1, 0, 0])
    before, turns = naive.bidiagonal(d, e), np.zeros((4, 2))
    split, positive = sweep(d, e, 1, 5, 1e-9, turns, 0)
    after = naive.bidiagonal(d, e)
    assert split == 3 and positive and d[0] == 1 and d[6] == 7 and e[0] == e[1] == e[6] == e[7] == 0
    np.testing.assert_allclose(np.linalg.svd(after)[1], np.linalg.svd(before)[1], rtol=1e-13)


@pytest.mark.parametrize("place", range(4))
def test_a_sweep_says_when_a_number_on_the_diagonal_is_next_to_nothing(place):
    d, e, ends = np.array([3.0, 2.0, -4.0, 5.0]), np.array([0, 1e-4, 1e-4, 1e-4, 0]), (np.uint32(0), np.uint32(3))
    d[place] = 0.5
    for tolerance, expected in ((0.49, True), (0.51, False)):
        here, turns = d.copy(), np.zeros((3, 2))
        _, positive = formulas.sweep(here, e.copy(), *ends, tolerance, 0.1, turns, np.uint32(0))
        assert positive == expected and abs(here).argmin() == place and abs(abs(here[place]) - 0.5) < 0.001


@real_types
def test_weight(real):
    assert formulas.weight(real(4), real(1)) == 0.75 and formulas.weight(real(4), real(0)) == 1
    assert all(formulas.weight(real(sigma), real(lam)) == 0 for sigma, lam in ((1, 1), (0, 0), (1, 2)))
