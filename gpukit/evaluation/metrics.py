"""Metrics of predictions and lists, computed in float64; see ranking.py for rankings.

Predictions:  rmse, mae, relative_error.      Ranked lists, one relevant item per user:  hit_ratio.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpukit.base import check_integer
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


def relative_error(truth: ArrayLike, predicted: ArrayLike) -> float:
    """Return ||predicted - truth|| / ||truth|| in the Frobenius norm.

    Raises as rmse, and DataError if truth is all zero.
    """
    truth, predicted = _pair(truth, predicted)
    size = np.linalg.norm(truth.ravel())
    if size == 0:
        raise DataError("the relative error of an all-zero truth is not defined.")
    return float(np.linalg.norm((predicted - truth).ravel()) / size)


def hit_ratio(relevant: ArrayLike, lists: ArrayLike, k: int = 10) -> float:
    """Return the fraction of users with the relevant item in the top k.

    relevant (users,) item of each user; lists (users, n) items, best first, short lists padded with no item.
    """
    relevant, lists = np.asarray(relevant), np.asarray(lists)
    if lists.ndim != 2 or relevant.shape != lists.shape[:1] or not len(relevant):
        raise DataError(f"hit_ratio needs (users,) and (users, n); got shapes {relevant.shape} and {lists.shape}.")
    return float(np.mean((lists[:, : check_integer("k", k, 1)] == relevant[:, None]).any(axis=1)))


def _pair(truth, predicted):
    truth, predicted = np.asarray(truth, np.float64), np.asarray(predicted, np.float64)
    if truth.shape != predicted.shape or truth.size == 0:
        raise DataError(f"two arrays of one shape are needed, not empty; got {truth.shape} and {predicted.shape}.")
    return truth, predicted
