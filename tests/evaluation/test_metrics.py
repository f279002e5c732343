"""Errors of numbers and hits of lists against their definitions."""

import numpy as np
import pytest

from gpukit.errors import DataError, ParameterError
from gpukit.evaluation import metrics


def test_errors_of_ratings():
    truth, predicted = [1.0, 2.0, 4.0], [2.0, 2.0, 2.0]
    assert metrics.rmse(truth, predicted) == pytest.approx(np.sqrt(5 / 3))
    assert metrics.mae(truth, predicted) == pytest.approx(1.0)
    assert metrics.relative_error(truth, predicted) == pytest.approx(np.sqrt(5 / 21))


def test_sums_are_float64():
    truth = np.full(200_000, 3.0, np.float32)
    predicted = truth + np.float32(0.1)
    assert metrics.rmse(truth, predicted) == pytest.approx(float(predicted[0]) - 3.0, rel=1e-12)


@pytest.mark.parametrize("metric", [metrics.rmse, metrics.mae, metrics.relative_error])
@pytest.mark.parametrize("truth, predicted", [([], []), ([1.0], [1.0, 2.0])])
def test_shapes_that_cannot_be_compared(metric, truth, predicted):
    with pytest.raises(DataError, match="shape"):
        metric(truth, predicted)


def test_relative_error_of_nothing():
    with pytest.raises(DataError, match="all-zero"):
        metrics.relative_error([0.0], [1.0])


def test_hit_ratio():
    lists = [[1, 2, 3], [4, 5, 6], [7, 8, 9]]
    assert metrics.hit_ratio([3, 4, 1], lists, k=2) == pytest.approx(1 / 3)
    assert metrics.hit_ratio([3, 4, 1], lists, k=5) == pytest.approx(2 / 3)
    with pytest.raises(ParameterError, match="k must be"):
        metrics.hit_ratio([1], [[1]], k=0)
    with pytest.raises(DataError, match="shapes"):
        metrics.hit_ratio([1, 2], [[1]])
