"""Errors of predictions, computed in float64; lists/ has metrics of lists, ranking.py of rankings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpukit.errors import DataError

if TYPE_CHECKING:
    from gpukit.typing import ArrayLike


def rmse(truth: ArrayLike, predicted: ArrayLike) -> float:
    """Return the root mean squared error of two arrays.

    Raises DataError if they are empty or their shapes differ.
    """
    truth, predicted = _pair(truth, predicted)
    return float(np.sqrt(np.mean((truth - predicted) ** 2)))


def mae(truth: ArrayLike, predicted: ArrayLike) -> float:
    """Return the mean absolute error; raises as rmse."""
    truth, predicted = _pair(truth, predicted)
    return float(np.mean(np.abs(truth - predicted)))


def _pair(truth, predicted):
    truth, predicted = np.asarray(truth, np.float64), np.asarray(predicted, np.float64)
    if truth.shape != predicted.shape or truth.size == 0:
        raise DataError(f"two arrays of one shape are needed, not empty; got {truth.shape} and {predicted.shape}.")
    return truth, predicted
