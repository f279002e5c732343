"""The CPU completion against the naive iteration, for all masks and shapes of slices."""

import numpy as np
import pytest

from gpukit.device import resolve
from gpukit.graphs.basis import Basis
from gpukit.imputation.spectral import cpu
from gpukit.imputation.spectral.cpu import TensorCompletion
from gpukit.imputation.spectral.path import Options
from gpukit.imputation.spectral.run import Place, Setting, impute, split, unit_of
from imputation import naive_algorithm
from imputation.inputs import KINDS, SHAPES, completed, problem


def completion_of(case, dtype=np.float64, mask=None):
    mask = case.mask if mask is None else mask
    observed = naive_algorithm.observed_only(case.truth, mask).astype(dtype)
    return TensorCompletion(Basis(case.mu, case.U, True), observed, mask, np.dtype(dtype))


def estimate_of(completion):
    full = np.zeros(completion.observed.shape)
    full[~completion.mask] = completion.missing()
    return full


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", SHAPES)
def test_steps_are_those_of_algorithm_1(kind, shape, monkeypatch):
    monkeypatch.setattr(cpu, "COLUMNS", 7)
    case = problem(shape, kind)
    completion, lam = completion_of(case), naive_algorithm.first_lambda(case.U, case.truth, case.mask)
    np.testing.assert_allclose(completion.largest(), lam, rtol=1e-10)
    estimate = np.zeros(case.truth.shape)
    for share in (0.6, 0.3, 0.1):
        new, ranks = naive_algorithm.iteration(case.U, case.truth, case.mask, estimate, share * lam)
        change, size, found = completion.step(share * lam)
        hidden = ~case.mask
        np.testing.assert_allclose(completion.missing(), new[hidden], atol=1e-10)
        np.testing.assert_array_equal(found, ranks)
        assert size == pytest.approx((new[hidden] ** 2).sum(), rel=1e-8)
        assert change == pytest.approx(((new - estimate)[hidden] ** 2).sum(), rel=1e-8)
        estimate = np.where(naive_algorithm.observed_only(np.ones(new.shape), case.mask) > 0, 0, new)


def test_momentum_steps_from_the_extrapolated_estimate():
    case = problem()
    completion, lam = completion_of(case), naive_algorithm.first_lambda(case.U, case.truth, case.mask)
    completion.step(0.3 * lam)
    first = estimate_of(completion)
    completion.step(0.2 * lam)
    second = estimate_of(completion)
    completion.step(0.1 * lam, momentum=0.5)
    expected, _ = naive_algorithm.iteration(case.U, case.truth, case.mask, second + 0.5 * (second - first), 0.1 * lam)
    np.testing.assert_allclose(completion.missing(), expected[~case.mask], atol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", SHAPES)
def test_a_cap_keeps_the_leading_vectors(kind, shape):
    case = problem(shape, kind, rank=3)
    completion = completion_of(case)
    cap = np.arange(len(case.U), dtype=np.int32) % (min(shape) + 1)
    lam = np.zeros(len(case.U))
    expected, ranks = naive_algorithm.iteration(case.U, case.truth, case.mask, np.zeros(case.truth.shape), lam, cap)
    _, _, found = completion.step(lam, cap)
    np.testing.assert_array_equal(found, ranks)
    np.testing.assert_allclose(completion.missing(), expected[~case.mask], atol=1e-10)


def test_whole_slices_as_a_mask_of_entries_are_the_same():
    case = problem()
    entries = np.repeat(case.mask, 20).reshape(case.truth.shape)
    one, other = completion_of(case), completion_of(case, mask=entries)
    for share in (0.5, 0.25):
        lam = share * one.largest()
        one.step(lam)
        other.step(lam)
    np.testing.assert_array_equal(one.missing().ravel(), other.missing())
    np.testing.assert_array_equal(completed(one), completed(other))


def test_spectrum_is_that_of_the_filled_tensor():
    case = problem(kind="both", rank=2)
    completion = completion_of(case)
    completion.step(0.2 * completion.largest())
    filled = completed(completion)
    Z = np.einsum("ik,iab->kab", case.U, filled)
    np.testing.assert_allclose(completion.spectrum(3), np.linalg.svd(Z, compute_uv=False)[:, :3], atol=1e-10)


def test_observed_values_come_back_to_the_bit():
    case = problem(kind="both")
    completion = completion_of(case, np.float32)
    completion.step(0.2 * completion.largest())
    filled = completed(completion)
    np.testing.assert_array_equal(filled[case.mask], case.truth.astype(np.float32)[case.mask])
    np.testing.assert_array_equal(filled[~case.mask], completion.missing())
    assert filled.dtype == np.float32 and np.abs(completion.missing()).max() > 0


def test_a_partial_basis_estimates_within_its_span():
    case = problem()
    part = Basis(case.mu[:12], np.ascontiguousarray(case.U[:, :12]), False)
    completion = TensorCompletion(
        part, naive_algorithm.observed_only(case.truth, case.mask), case.mask, np.dtype(np.float64)
    )
    lam = 0.3 * naive_algorithm.first_lambda(part.vectors, case.truth, case.mask)
    expected, _ = naive_algorithm.iteration(part.vectors, case.truth, case.mask, np.zeros(case.truth.shape), lam)
    completion.step(lam)
    np.testing.assert_allclose(completion.missing(), expected[~case.mask], atol=1e-10)


@pytest.mark.parametrize("kind", ["slices", "entries"])
@pytest.mark.parametrize("center", ["none", "entry"])
@pytest.mark.parametrize(
    "given, factor",
    [(np.float32, 1e-37), (np.float32, 1e35), (np.float64, 1e-200), (np.float64, 1e200), (np.float64, 1e10)],
)
def test_very_large_and_very_small_numbers(given, factor, center, kind):
    """Their squares exceed single precision, which the completion uses."""
    case = problem((30, 28), kind, rank=2)
    observed = naive_algorithm.observed_only(case.truth, case.mask)
    place = Place(Basis(case.mu, case.U, True), resolve("cpu"), np.dtype(np.float32))
    setting = Setting("slice", 1.0, center, Options(iterations=3, rank_phase=False))
    hidden = split(case.mask, 0.2, 0).hidden
    one, other = (impute(place, setting, (scale * observed).astype(given), case.mask, hidden) for scale in (1, factor))
    for name in ("threshold", "error"):
        mine, theirs = (getattr(found.fit.history, name) for found in (one, other))
        np.testing.assert_allclose(theirs / factor, mine, rtol=1e-3)
    np.testing.assert_array_equal(one.fit.ranks, other.fit.ranks)
    size = np.abs(one.estimate).max()
    assert other.estimate.dtype in (given, np.float64)
    np.testing.assert_allclose(other.estimate / factor, one.estimate, atol=1e-4 * size)


@pytest.mark.parametrize("factor, scaled", [(1e200, True), (1e-200, True), (1.0, False), (0.0, False)])
def test_units_are_powers_of_two(factor, scaled):
    observed = factor * np.random.default_rng(0).normal(size=(3, 2, 2))
    unit = unit_of(observed)
    assert (unit != 1) == scaled and np.frexp(unit)[0] == 0.5 and np.abs(unit * observed).max() <= 4


def test_single_precision_is_near_double():
    case = problem((6, 5), "both", rank=2)
    single, double = completion_of(case, np.float32), completion_of(case)
    for share in (0.5, 0.2):
        lam = share * double.largest()
        single.step(lam)
        double.step(lam)
    size = np.linalg.norm(double.missing())
    assert np.linalg.norm(single.missing() - double.missing()) < 1e-5 * size


def test_seconds_of_the_parts_of_a_step():
    case, moments = problem((4, 3), "entries"), iter((0.0, 1.0, 3.0, 7.0))
    found = completion_of(case)
    found.mark = lambda: next(moments)
    found.step(np.zeros(len(case.mu)))
    assert found.seconds == {"transform": 5.0, "thresholding": 2.0}
