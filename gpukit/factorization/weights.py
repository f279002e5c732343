"""Ratings that count differently: `sample_weight`, or the column of weights that Ratings have.

A rating of weight w is learned from as if it came w times: its step, and its part of every mean, is times w. Weights
are relative: they are divided by their mean, so that rates and damping mean what they mean without. What has weight 0
is not there.
"""

import numpy as np

from gpukit.base.arrays import as_array, plain
from gpukit.errors import DataError, ParameterError
from gpukit.io.arrays import as_frame, is_frame
from gpukit.ratings.pairs import is_pairs
from gpukit.ratings.table import Ratings

TAKE = ("sgd", "als")  # solvers that weigh


def weighted(ratings, given, X, y):
    """Ratings with sample weights in place of their own: given (n,), a number a rating; of a matrix X (M,), a number a
    user; None: as they are. DataError for what cannot be weights."""
    if given is None:
        return ratings
    weights = numbers(given)
    a_user = is_matrix(X, y)
    count, what = (ratings.shape[0], "row of the matrix") if a_user else (len(ratings), "rating")
    if weights.shape != (count,):
        raise DataError(f"sample_weight must hold a number a {what}, {count:,}; its shape is {weights.shape}.")
    wrong = np.flatnonzero(~((weights >= 0) & np.isfinite(weights)))
    if len(wrong):
        raise DataError(f"sample_weight[{wrong[0]}] is {weights[wrong[0]]}; weights are finite, 0 or more.")
    if a_user:
        weights = weights[ratings.users]
    return ratings.with_columns(**{**ratings.columns(), "weights": weights})


def is_matrix(X, y):
    """Whether X, as fit takes it with y, is users x items."""
    table = isinstance(X, (Ratings, tuple)) or is_frame(as_frame(X))
    return not (table or (y is not None and is_pairs(X)))


def numbers(given):
    """Weights as float32; DataError for what is no numbers."""
    try:
        return as_array(plain(given), "sample_weight").astype(np.float32)
    except (TypeError, ValueError) as error:
        raise DataError(f"sample_weight must be numbers, one a rating ({error}).") from None


def counted(ratings):
    """Ratings without those of weight 0, the other weights 1 on average; without the column where all are alike."""
    weights = ratings.weights
    if weights is None:
        return ratings
    if not weights.any():
        raise DataError("All weights are zero: there is nothing to learn from. Give some rating a weight above 0.")
    if not weights.all():
        ratings = ratings.take(weights > 0)
        weights = ratings.weights
    columns = ratings.columns()
    del columns["weights"]
    if weights.min() < weights.max():
        columns["weights"] = (weights / weights.mean(dtype=np.float64)).astype(np.float32)
    return ratings.with_columns(**columns)


def check_solver(solver, in_batches, ratings):
    """ParameterError where a solver cannot weigh Ratings that have weights; in_batches: whether one result is wanted of
    a GPU."""
    if ratings.weights is not None and solver == "sgd" and in_batches:
        raise ParameterError("deterministic=True takes no weights on a GPU. Train on device='cpu', or leave them out.")
    if ratings.weights is not None and solver not in TAKE:
        raise ParameterError(f"solver={solver!r} takes no weights. Use 'sgd' or 'als', or leave the weights out.")
