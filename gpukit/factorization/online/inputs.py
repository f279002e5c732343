"""New ratings, validated and in the rows of the grown model."""

from typing import NamedTuple

import numpy as np

from gpukit.errors import DataError, ParameterError
from gpukit.factorization.online.id_lookup import begins_with, extend_ids, has_unique_new_ids
from gpukit.factorization.weights import counted
from gpukit.io.ids import rows_of
from gpukit.ratings import check
from gpukit.ratings.clicks import are_pairs
from gpukit.ratings.pairs import merge_repeats, table_of
from gpukit.ratings.table import Ratings

MOST_DEVIATIONS = 1000.0  # standard deviations from the mean; farther ratings are not of the same scale
LEAST_NEW, LEAST_KNOWN = 10, 30  # new and known ratings, at least, for a comparison of their scales


class NewRatings(NamedTuple):
    """n new ratings.

    users, items (n,) int32: rows of the grown model; values (n,) float32; columns are on the host or on the device;
    user_ids, item_ids: the model's, then the new ones.
    """

    users: np.ndarray
    items: np.ndarray
    values: np.ndarray
    user_ids: np.ndarray
    item_ids: np.ndarray

    def __len__(self):
        return self.values.shape[0]

    @property
    def shape(self):
        """Number of users and items of the grown model, (M, N)."""
        return len(self.user_ids), len(self.item_ids)


def read_batch(X, y, options, model):
    """Return the validated Ratings of fit's arguments (X, y) as a fitted model learns them, each pair once.

    options: plan.Options. Raises DataError, ParameterError.
    """
    ratings = table_of(X, y)
    if not (options.widen_scale or are_pairs(ratings)):
        check.check_range(ratings.values, bounds_of(model), lambda row: locate(ratings, row))
    ratings = require_unweighted(merge_repeats(ratings, X, options.duplicates, timed=False, stacklevel=4))
    ratings = model._as_learned(ratings, options.widen_scale)
    check_near(ratings.values, model._scale)
    return ratings


def read_unchecked(X, y, known, scale):
    """Return the Ratings of fit's arguments (X, y) with fewer checks, and possibly repeated pairs.

    A device checks the range of the rows of Ratings whose ids begin with the known ones, and finds values that are not
    levels: checks on the host took longer than the transfer. Other data are validated, except for the scale.
    """
    if y is None and isinstance(X, Ratings) and X.weights is None and len(X) and is_well_formed(X, known):
        return check_ratings(X, scale)
    return check_ratings(require_unweighted(table_of(X, y)), scale)


def is_well_formed(ratings, known):
    """Return True if the columns of Ratings agree and their ids begin with the known ones; False: check them all."""
    ids, is_checked = (ratings.user_ids, ratings.item_ids), ratings._state >= check.SOUND
    if not is_checked and (check.misshapen(ratings) or not all(isinstance(side, np.ndarray) for side in ids)):
        return False
    return all(map(begins_with, ids, known)) and (is_checked or all(map(has_unique_new_ids, ids, known)))


def in_rows(ratings, known, steps, lookups=(rows_of, rows_of)):
    """Return the NewRatings of Ratings in the rows of a model with known (user ids, item ids), columns on the device.

    None for a row out of range. lookups: functions like rows_of, for users and for items. Raises DataError.
    """
    users = extend_ids(ratings.users, ratings.user_ids, known[0], "user", steps, lookups[0])
    items = extend_ids(ratings.items, ratings.item_ids, known[1], "item", steps, lookups[1])
    if users is None or items is None:
        return None
    return NewRatings(users[0], items[0], steps.resident(ratings.values, np.float32), users[1], items[1])


def bounds_of(model):
    """Return the (low, high) that a model's new ratings must be within: its scale, or 0 and up for counts.

    None for a model of clicks that are ratings of positive_from or more.
    """
    if model.feedback_ == "explicit":
        return model.scale_
    return (0.0, np.inf) if model.positive_from is None else None


def locate(ratings, row):
    """Name a row of Ratings, with its user and item."""
    user, item = ratings.user_ids[ratings.users[row]], ratings.item_ids[ratings.items[row]]
    return f"Row {row + 1:,} (user {user}, item {item})"


def check_ratings(ratings, scale, known=0):
    """Return Ratings; raise DataError for clicks and for ratings of another scale.

    Clicks have the value 1 and would count as the worst ratings. known: number of ratings that the model has learned; 0
    skips the check of the scale.
    """
    if scale.low < scale.high and are_pairs(ratings):
        raise DataError(
            f"There are pairs without ratings, and the model is of ratings from {scale.low:g} to {scale.high:g}. Name "
            "the column of ratings, or train a model of clicks."
        )
    if known >= LEAST_KNOWN:
        check_scale(ratings.values, scale)
    return ratings


def check_scale(values, scale):
    """Raise DataError if most of at least LEAST_NEW values are outside the range of the model's ratings.

    Few ratings of the same scale are. Predictions of a model widened to them would be in the wider range, too.
    """
    beyond = np.count_nonzero((values < scale.low) | (values > scale.high))
    if len(values) >= LEAST_NEW and 2 * beyond > len(values) and scale.low < scale.high:
        raise DataError(
            f"{beyond:,} of {len(values):,} ratings ({values.min():g} to {values.max():g}) are outside the range of "
            f"the model's ratings ({scale.low:g} to {scale.high:g}). Convert them to that scale, or train again with "
            "them."
        )


def require_unweighted(ratings):
    """Return Ratings without those of weight 0; raise ParameterError for other weights."""
    ratings = counted(ratings)
    if ratings.weights is not None:
        raise ParameterError("An update takes no weights: the ratings learned before have none. Leave the column out.")
    return ratings


def check_near(values, scale):
    """Raise DataError for a rating more than MOST_DEVIATIONS from the mean of the model's ratings."""
    distance = np.abs(values.astype(np.float64) - scale.mean) / scale.deviation
    if len(distance) and distance.max() > MOST_DEVIATIONS:
        raise DataError(
            f"A rating of {values[distance.argmax()]:g} is {distance.max():.3g} standard deviations from the mean of "
            f"the model's ratings ({scale.low:g} to {scale.high:g}). Correct it, or train again with it."
        )
