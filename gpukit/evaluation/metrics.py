"""Metrics of predictions and lists, computed in float64; see ranking.py for rankings.

Predictions:  rmse, mae, errors (both), relative_error.      Ranked lists, one relevant item per user:  hit_ratio.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpukit._pool import map_row_blocks
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


def errors(truth, predict):
    """Return {'rmse', 'mae'} of truth (n,), on all cores, in blocks.

    predict(slice) returns the predictions of a part of truth, a number or an array. Raises DataError for empty truth.
    """
    if not len(truth):
        raise DataError("There are no ratings to judge by: 0 rows.")

    def sums(part):
        difference = truth[part].astype(np.float64) - predict(part)
        return np.square(difference).sum(), np.abs(difference).sum()

    squares, sizes = np.sum(map_row_blocks(sums, (len(truth), 1)), axis=0) / len(truth)
    return {"rmse": float(np.sqrt(squares)), "mae": float(sizes)}


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
