"""The path, the phase of fixed ranks, and their stopping points."""

import numpy as np
import pytest

from gpukit.graphs.basis import Basis
from gpukit.imputation.spectral.cpu import TensorCompletion
from gpukit.imputation.spectral.path import History, Options, best_options, fit_path
from imputation import naive_algorithm
from imputation.inputs import problem


class Scripted:
    """A completion with prescribed changes and spectrum."""

    shape, rounding = (8, 8), 1e-12

    def __init__(self, changes, spectrum=None):
        self.changes, self.values, self.asked = list(changes), spectrum, []

    def step(self, lam, cap, momentum):
        self.asked.append((lam.copy(), None if cap is None else cap.copy(), momentum))
        return self.changes.pop(0), 1.0, np.full(len(lam), 3, np.int32)

    def spectrum(self, count):
        return self.values[:, :count]


def scales(completion):
    return [lam[0] for lam, _, _ in completion.asked]


def completion_of(case, values, dtype=np.float64):
    return TensorCompletion(
        Basis(case.mu, case.U, True), naive_algorithm.observed_only(values, case.mask), case.mask, np.dtype(dtype)
    )


def error_after(case, values, options):
    """Return (relative error of missing values, Fit)."""
    completion = completion_of(case, values)
    fit = fit_path(completion, completion.largest(), options)
    truth = case.truth[~case.mask]
    return np.linalg.norm(completion.missing() - truth) / np.linalg.norm(truth), fit


def test_lambda_falls_by_the_decay():
    completion = Scripted([1e-9] * 5)
    fit = fit_path(completion, np.array([2.0, 4.0]), Options(5, 0.5, 0.0, rank_phase=False))
    assert scales(completion) == [2.0, 1.0, 0.5, 0.25, 0.125] and fit.rank_phase == "off"
    np.testing.assert_array_equal(fit.history.threshold, [4.0, 2.0, 1.0, 0.5, 0.25])
    np.testing.assert_allclose(
        [beta for _, _, beta in completion.asked], [0, 0.2817, 0.4340, 0.5311, 0.5987], atol=1e-4
    )


def test_lambda_waits_for_the_estimate_but_not_in_the_papers_algorithm():
    changes = [1.0, 1.1, 0.9, 1.1**2 / 4, 0.9**2 / 4, 0.0]
    completion = Scripted(changes)
    fit_path(completion, np.ones(1), Options(6, 0.5, 0.0, rank_phase=False))
    assert scales(completion) == [1, 0.5, 0.5, 0.25, 0.25, 0.125]
    completion = Scripted(changes)
    fit_path(completion, np.ones(1), Options(6, 0.5, 0.0, accelerate=False, rank_phase=False))
    assert scales(completion) == [1, 0.5, 0.25, 0.125, 0.0625, 0.03125]
    assert all(beta == 0 for _, _, beta in completion.asked)


def test_tolerances_end_path_and_phase():
    flat = np.tile(np.array([9.0, 8.0, 1e-3, 1e-3, 1e-3]), (4, 1))
    completion = Scripted([0.0, 1.0, 1e-9, 1e-9, 1e-11, 1e-13, 1.0], flat)
    fit = fit_path(completion, np.ones(4), Options(20, 0.5, 1e-8))
    assert list(fit.history.phase) == ["path"] * 3 + ["rank"] * 3 and fit.rank_phase == "done"
    lam, cap, momentum = completion.asked[3]
    np.testing.assert_array_equal(lam, 0)
    np.testing.assert_array_equal(cap, 2)
    assert momentum == 0 and completion.asked[4][2] > 0


def test_slices_that_tell_no_rank_keep_their_last_threshold():
    values = np.array(
        [[9, 1e-3, 9e-4, 8e-4, 7e-4], [9, 8, 1e-3, 9e-4, 8e-4], [9, 8, 7, 1e-3, 9e-4]] * 3 + [[9, 8, 7, 6, 5]], float
    )
    completion = Scripted([0.0] * 4, values)
    fit_path(completion, np.full(10, 6.0), Options(2, 0.5, 0.0, rank_iterations=2))
    lam, cap, _ = completion.asked[-1]
    np.testing.assert_array_equal(lam, [0.0] * 9 + [3.0])
    np.testing.assert_array_equal(cap, [1, 2, 3] * 3 + [8])


@pytest.mark.parametrize("kind", ["slices", "entries", "both"])
def test_fixed_ranks_take_the_bias_away(kind):
    case = problem((10, 9), kind, N=60, rank=2)
    path, _ = error_after(case, case.truth, Options(rank_phase=False))
    both, fit = error_after(case, case.truth, Options())
    assert fit.rank_phase == "done" and (fit.ranks == 2).all()
    assert both < 1e-5 < 1e-4 < path


def test_fixed_ranks_in_noise():
    case = problem((12, 12), "slices", N=60, rank=2)
    noise = 0.1 * np.sqrt(np.mean(case.truth**2)) * np.random.default_rng(5).normal(size=case.truth.shape)
    path, _ = error_after(case, case.truth + noise, Options(rank_phase=False))
    both, fit = error_after(case, case.truth + noise, Options())
    assert fit.rank_phase == "done" and both < 0.8 * path


@pytest.mark.parametrize("decay", [0.3, 0.5, 0.6])
def test_a_decay_that_is_too_fast_does_no_harm(decay):
    case = problem((12, 12), "slices", N=100, rank=2)
    error, fit = error_after(case, case.truth, Options(decay=decay))
    assert error < 1e-5 and (fit.ranks == 2).all()


def test_no_phase_where_no_rank_stands_out():
    case = problem((8, 8), rank=8)
    path, _ = error_after(case, case.truth, Options(rank_phase=False))
    both, fit = error_after(case, case.truth, Options())
    assert both == path and fit.rank_phase == "unclear" and set(fit.history.phase) == {"path"}


@pytest.mark.parametrize("shape", [(1, 6), (6, 1), (1, 1)])
def test_vectors_have_no_rank_to_fix(shape):
    case = problem(shape)
    _, fit = error_after(case, case.truth, Options())
    assert fit.rank_phase == "none" and np.isfinite(fit.history.change).all()


def test_options_that_stop_where_the_error_was_least():
    def stopped(*errors):
        count = len(errors)
        phase = np.array(["path"] * 3 + ["rank"] * (count - 3))
        return best_options(History(phase, *[np.zeros(count)] * 5, np.array(errors)), Options(3))

    early = stopped(3.0, 1.0, 2.0)
    assert (early.iterations, early.rank_phase) == (2, False) and early.decay == pytest.approx(0.1)
    late = stopped(3.0, 2.0, 2.0, 1.0, 0.5, 0.6)
    assert (late.iterations, late.rank_phase, late.rank_iterations) == (3, True, 2)


def test_the_error_of_every_iteration_is_written_down():
    errors = iter([3.0, 2.0, 1.0])
    fit = fit_path(Scripted([1.0] * 3), np.ones(2), Options(3, rank_phase=False), watch=lambda completion: next(errors))
    np.testing.assert_array_equal(fit.history.error, [3.0, 2.0, 1.0])
    assert fit.history.max_rank.dtype == np.int64 and (fit.history.mean_rank == 3).all()
