"""Errors of numbers against their definitions."""

import numpy as np
import pytest

from gpukit.errors import DataError
from gpukit.evaluation import metrics


def test_errors_of_ratings():
    truth, predicted = [1.0, 2.0, 4.0], [2.0, 2.0, 2.0]
    assert metrics.rmse(truth, predicted) == pytest.approx(np.sqrt(5 / 3))
    assert metrics.mae(truth, predicted) == pytest.approx(1.0)


def test_sums_are_float64():
    truth = np.full(200_000, 3.0, np.float32)
    predicted = truth + np.float32(0.1)
    assert metrics.rmse(truth, predicted) == pytest.approx(float(predicted[0]) - 3.0, rel=1e-12)


@pytest.mark.parametrize("metric", [metrics.rmse, metrics.mae])
@pytest.mark.parametrize("truth, predicted", [([], []), ([1.0], [1.0, 2.0])])
def test_shapes_that_cannot_be_compared(metric, truth, predicted):
    with pytest.raises(DataError, match="shape"):
        metric(truth, predicted)
