"""Errors against a truth."""

import numpy as np
import pytest

from gpukit.cli.imputation.steps import errors_of


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_errors_against_a_truth(whole, dtype):
    rng = np.random.default_rng(0)
    truth = rng.normal(size=(5000, 4, 5)).astype(dtype)
    where = rng.random(5000 if whole else truth.shape) < 0.3
    estimate = truth.copy()
    estimate[where] += rng.normal(size=estimate[where].shape).astype(dtype)
    errors = (estimate.astype(float) - truth)[where]
    found = errors_of(estimate, truth, where)
    assert found["relative"] == pytest.approx(np.linalg.norm(errors) / np.linalg.norm(truth.astype(float)))
    assert found["mean_absolute"] == pytest.approx(np.abs(errors).mean())
    assert errors_of(estimate.reshape(5000, 20), truth, where) == found, "completed in the shape of the input"
    assert errors_of(estimate, np.zeros_like(truth), where)["relative"] is None
