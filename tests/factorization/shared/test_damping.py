"""What is added of ranks' changes: the sum of small ones, the mean of large ones, and never a step too far."""

import numpy as np
import pytest

from gpukit.factorization import MatrixFactorization
from gpukit.factorization.settings import check
from gpukit.factorization.shared.damping import CURVATURE, MOST, shares
from gpukit.factorization.solvers.sgd.rates import row_rates

COUNTS = np.array([300, 40]), np.array([0, 1, 30, 1_000, 100_000, 10_000_000])
PLAN = check(MatrixFactorization(n_factors=4, learning_rate=0.3, n_epochs=4), 1_000_000)


@pytest.mark.parametrize("ranks", [2, 4])
def test_from_the_sum_to_the_mean(ranks):
    found = shares(PLAN, "users", COUNTS, ranks, 4)
    assert found.shape == (4, 6) and found.dtype == np.float32
    assert (found[0] == 1).all()
    assert (np.diff(found[1:], axis=1) <= 1e-6).all() and (np.diff(found[1:], axis=0) >= -1e-6).all()
    np.testing.assert_allclose(found[1:, :2], 1, atol=0.01)
    assert found.min() >= 1 / ranks and found[1, -1] < 1.05 / ranks


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("row", range(1, 6))
def test_a_row_goes_as_far_as_by_one_step_after_the_other(row, ranks):
    """Towards 0 by steps of so much of the way, from 1: all ranks' changes, as many as their share says."""
    rate = row_rates(PLAN.rates, PLAN.epoch_rates(1).factor, COUNTS[1][row : row + 1])[0]
    steps = COUNTS[1][row] / (4 * ranks)
    own, wanted = (np.exp(-rate * CURVATURE * steps * n) - 1 for n in (1, ranks))
    share = shares(PLAN, "users", COUNTS, ranks, 4)[1, row]
    assert share * ranks * own == pytest.approx(wanted, rel=1e-4)


def test_rows_that_meet_more_often():
    often = np.array([4, 4, 4, 24, 24, 24])
    found = shares(PLAN, "users", COUNTS, 2, often)
    for meetings in (4, 24):
        one = shares(PLAN, "users", COUNTS, 2, meetings)[:, often == meetings]
        assert np.array_equal(found[:, often == meetings], one)
    assert (found[1, 3:5] > shares(PLAN, "users", COUNTS, 2, 4)[1, 3:5]).all()


def test_a_training_of_very_many_epochs_takes_no_more_memory():
    many = PLAN._replace(epochs=10**9)
    assert np.array_equal(
        shares(many, "users", COUNTS, 2, 4), shares(PLAN._replace(epochs=MOST), "users", COUNTS, 2, 4)
    )
