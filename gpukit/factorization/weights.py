"""Sample weights of ratings: `sample_weight`, or the column of weights of Ratings.

A rating of weight w is learned as if it came w times: its step and its part of every mean are multiplied by w. Weights
are relative: they are divided by their mean, so that rates and damping keep their meaning. Ratings of weight 0 are
excluded.
"""

import numpy as np

from gpukit.base.arrays import aligned, as_numbers, labels
from gpukit.errors import DataError, ParameterError
from gpukit.io.arrays import as_frame, is_frame
from gpukit.ratings.pairs import is_pairs
from gpukit.ratings.table import Ratings

TAKE = ("sgd", "als")  # solvers that support weights


def weighted(ratings, given, X, y):
    """Return Ratings with sample weights in place of their own.

    given (n,): a number a rating; of a matrix X (M,), a number a user; None keeps the Ratings as they are. Pandas'
    weights are matched with X by their labels. Raises DataError for values that are not weights.
    """
    if given is None:
        return ratings
    rows = X[0] if isinstance(X, tuple) and X else X
    rows = y if labels(rows) is None and not is_matrix(X, y) else rows
    weights = as_numbers("sample_weight", aligned(X=rows, sample_weight=given)[1]).astype(np.float32)
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
    """Return True if X, with y, is users x items.

    X and y are as in fit.
    """
    table = isinstance(X, (Ratings, tuple)) or is_frame(as_frame(X))
    return not (table or (y is not None and is_pairs(X)))


def counted(ratings):
    """Return Ratings without those of weight 0, with mean weight 1.

    The column is dropped if all weights are equal. Raises DataError if all are 0.
    """
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
    """Raise ParameterError if the solver does not support the ratings' weights.

    in_batches: whether training is deterministic on a GPU.
    """
    if ratings.weights is not None and solver == "sgd" and in_batches:
        raise ParameterError("deterministic=True takes no weights on a GPU. Train on device='cpu', or leave them out.")
    if ratings.weights is not None and solver not in TAKE:
        raise ParameterError(f"solver={solver!r} takes no weights. Use 'sgd' or 'als', or leave the weights out.")
