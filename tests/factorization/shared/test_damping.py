"""Weights of the ranks' changes.

The sum of small ones, the mean of large ones, never an overshoot.
"""

import numpy as np
import pytest

from gpukit.factorization import MatrixFactorization
from gpukit.factorization.constants import RULES
from gpukit.factorization.settings import check
from gpukit.factorization.shared import partition, twins
from gpukit.factorization.shared.partition import QUARTERS, Parts, pace_index, paces
from gpukit.factorization.solvers.rates import row_rates
from gpukit.factorization.solvers.sgd.formulas import change_weight

COUNTS = np.array([300, 40]), np.array([0, 1, 30, 1_000, 100_000, 10_000_000])
PLAN = check(MatrixFactorization(n_factors=4, learning_rate=0.3, n_epochs=4), 1_000_000)


def shares_of(found, ranks, mean):
    """Apply damp to paces (epochs, rows) with |p|^2 = `mean`."""
    out = np.empty_like(found)
    for pace, shares in zip(found, out):
        twins.damp(np.array([[2 * mean, 2.0]]), pace, ranks, shares)
    return out


@pytest.mark.parametrize("ranks", [2, 4])
def test_from_the_sum_to_the_mean(ranks):
    found = shares_of(paces(PLAN, "users", COUNTS, ranks, 4, 4), ranks, 0.5)
    assert found.shape == (QUARTERS + 3, 6) and found.dtype == np.float32
    assert (np.diff(found, axis=1) <= 1e-6).all() and (np.diff(found, axis=0) >= -1e-6).all()
    np.testing.assert_allclose(found[:, :2], 1, atol=0.02)
    assert found.min() >= 1 / ranks and found[QUARTERS, -1] < 1.05 / ranks


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("row", range(1, 6))
@pytest.mark.parametrize("mean", [0.01, 1.5])
def test_a_row_goes_as_far_as_by_one_step_after_the_other(row, ranks, mean):
    """The weighted changes of all ranks against steps in sequence.

    From 1 towards 0 by fixed fractions.
    """
    rate = row_rates(PLAN.rates, PLAN.epoch_rates(1).factor, COUNTS[1][row : row + 1])[0]
    steps = COUNTS[1][row] / (4 * ranks)
    own, wanted = (np.expm1(-rate * RULES.curvature * mean * steps * n) for n in (1, ranks))
    share = shares_of(paces(PLAN, "users", COUNTS, ranks, 9, 4), ranks, mean)[QUARTERS, row]
    assert share * ranks * own == pytest.approx(wanted, rel=1e-4)


def test_a_share_is_between_the_mean_and_the_sum():
    for x in (0.0, 1e-7, 1e-6, 1e-3, 1.0, 80.0, 1e9):
        assert 0.25 <= change_weight(np.float32(x), np.float32(4)) <= 1
    assert change_weight(np.float32(0), np.float32(4)) == 1 and change_weight(np.float32(1e9), np.float32(4)) == 0.25


def test_rows_with_more_exchanges():
    often = np.array([4, 4, 4, 24, 24, 24])
    found = paces(PLAN, "users", COUNTS, 2, 2 * often, often)
    for meetings in (4, 24):
        one = paces(PLAN, "users", COUNTS, 2, 2 * meetings, meetings)[:, often == meetings]
        assert np.array_equal(found[:, often == meetings], one)
    assert (found[:, 3:5] < paces(PLAN, "users", COUNTS, 2, 8, 4)[:, 3:5]).all()


def test_the_first_epoch_has_quarters():
    """Quarters by the rates of rows after a part of their ratings.

    They have exchanges of their own.
    """
    found = paces(PLAN, "users", COUNTS, 2, 64, 24)
    for quarter in range(QUARTERS):
        seen = (2 * quarter + 1) / 8 * COUNTS[1]
        rate = row_rates(PLAN.rates, PLAN.epoch_rates(0).factor, seen)
        np.testing.assert_allclose(found[quarter], RULES.curvature * rate * COUNTS[1] / 128, rtol=1e-6)
    assert [pace_index(0, quarter, 7) for quarter in range(QUARTERS)] == [0, 1, 2, 3]
    assert [pace_index(epoch, 0, 7) for epoch in (1, 2, 3, 4, 10**9)] == [4, 5, 6, 6, 6]


def test_a_training_of_very_many_epochs_takes_no_more_memory():
    many = PLAN._replace(epochs=10**9)
    most = PLAN._replace(epochs=RULES.paced_epochs)
    assert np.array_equal(*(paces(plan, "users", COUNTS, 2, 4, 4) for plan in (many, most)))


def test_a_rank_tells_of_its_own_users(monkeypatch):
    parts = Parts(np.array([0, 1, 1, 0, 1]), (np.array([5, 4, 3, 2, 1]), None), None, None, None)
    counts, every = partition.sample_rows(parts, 1)
    np.testing.assert_array_equal(counts, np.float32([4, 3, 1]))
    assert counts.dtype == np.float32 and every == 1
    monkeypatch.setattr(RULES, "factor_sample", 2)
    assert partition.sample_rows(parts, 1)[1] == 2
