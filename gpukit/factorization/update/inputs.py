"""New ratings in a model's rows: new ids are appended, old rows keep their numbers."""

from typing import NamedTuple

import numpy as np

from gpukit._jit import njit
from gpukit.base.arrays import as_text
from gpukit.errors import DataError, ParameterError
from gpukit.factorization.live.twins import rename_new
from gpukit.factorization.update.fold import UserRatings
from gpukit.factorization.weights import counted
from gpukit.io.ids import check_types, rows_of
from gpukit.ratings.check import check_range
from gpukit.ratings.clicks import are_pairs
from gpukit.ratings.pairs import merge_repeats, table_of

FAR = 1000.0  # standard deviations; ratings farther from the mean are not of the same scale
SOME, KNOWN = 10, 30  # new and known ratings, at least, for a comparison of their scales


class NewRatings(NamedTuple):
    """n new ratings.

    users, items (n,) int32: rows of the grown model; values (n,) float32; each pair once; user_ids, item_ids: the
    model's, then the new ones.
    """

    users: np.ndarray
    items: np.ndarray
    values: np.ndarray
    user_ids: np.ndarray
    item_ids: np.ndarray

    def __len__(self):
        return len(self.values)

    @property
    def shape(self):
        """Number of users and items of the grown model, (M, N)."""
        return len(self.user_ids), len(self.item_ids)


def part_of(new, y, user_ids, item_ids, duplicates, taken, bounds=None):
    """Return the NewRatings of fit's arguments (new, y), in the rows of a model with these ids.

    duplicates: rule for repeated pairs (gpukit.ratings.repeats); taken: function from the Ratings read to those
    learned; bounds: (low, high) of the ratings, see bounds_of. Raises DataError, ParameterError.
    """
    ratings = table_of(new, y)
    if not are_pairs(ratings):
        check_range(ratings.values, bounds, lambda row: locate(ratings, row))
    ratings = require_unweighted(merge_repeats(ratings, new, duplicates, timed=False, stacklevel=4))
    return in_rows(taken(ratings), user_ids, item_ids)


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


def in_rows(ratings, user_ids, item_ids, finders=(rows_of, rows_of)):
    """Return the NewRatings of Ratings in the rows of a model with these ids, with repeated pairs.

    finders: functions like rows_of, for users and for items. Raises DataError.
    """
    users, user_ids = extend_ids(ratings.users, ratings.user_ids, user_ids, "user", finders[0])
    items, item_ids = extend_ids(ratings.items, ratings.item_ids, item_ids, "item", finders[1])
    return NewRatings(users, items, ratings.values, user_ids, item_ids)


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
    if known >= KNOWN:
        check_scale(ratings.values, scale)
    return ratings


def check_scale(values, scale):
    """Raise DataError if most of at least SOME values are outside the range of the model's ratings.

    Few ratings of the same scale are. Predictions of a model widened to them would be in the wider range, too.
    """
    beyond = np.count_nonzero((values < scale.low) | (values > scale.high))
    if len(values) >= SOME and 2 * beyond > len(values) and scale.low < scale.high:
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


def extend_ids(rows, ids, known, what, find=rows_of):
    """Return (rows (n,) int32 in the extended ids, extended ids).

    The extended ids are the known ones, then the new ones that occur in rows; find: function like rows_of. Whole
    numbers match ids that are text, and vice versa. Raises DataError for a new id of another kind than the known ones.
    """
    if ids is known:
        return rows, known
    if begins_with(ids, known):
        return drop_unused_ids(rows, ids, len(known))
    names = find(ids, known, what)
    fresh = np.flatnonzero((names < 0) & find_occurring(rows, 0, len(ids)))
    names[fresh] = np.arange(len(known), len(known) + len(fresh), dtype=np.int32)
    renamed = np.empty(len(rows), np.int32)
    rename_new(rows, 0, names, renamed)
    if not len(fresh):
        return renamed, known
    return renamed, np.concatenate((known, convert_ids(ids[fresh], known, what)))


def begins_with(ids, known):
    """Return True if ids begin with the known ones, in their order."""
    same_type = ids.dtype == known.dtype or ids.dtype.kind == known.dtype.kind == "U"
    if len(ids) < len(known) or not same_type:
        return False
    return shares_memory(ids, known) or np.array_equal(ids[: len(known)], known)


def shares_memory(ids, known):
    """Return True if the known ids are the first part of the memory of ids."""
    memory, other = ids.__array_interface__, known.__array_interface__
    return ids.dtype == known.dtype and memory["data"] == other["data"] and ids.strides == known.strides


def drop_unused_ids(rows, ids, count):
    """Return (rows (n,) int32, ids) without ids from number `count` on that do not occur in rows."""
    seen = find_occurring(rows, count, len(ids))
    if seen.all():
        return rows, ids
    renamed = np.empty(len(rows), np.int32)
    rename_new(rows, count, count - 1 + np.cumsum(seen, dtype=np.int32), renamed)
    return renamed, np.concatenate((ids[:count], ids[count:][seen]))


def find_occurring(rows, first, end):
    """Return (end - first,) bool: True for numbers from first to end that occur in rows (n,) int32."""
    seen = np.zeros(1 + end - first, np.bool_)
    mark(rows, first, seen)
    return seen[1:]


@njit
def mark(rows, first, seen):
    """seen[1 + r - first] = True for rows r (n,) from first on; seen[0] = True for smaller ones.

    One thread: starting others takes longer than a million rows. Without a branch: for old and new rows in random order
    its mispredictions would take ten times as long as the rest.
    """
    for t in range(rows.size):
        seen[np.uint64(max(np.int64(rows[t]) - first, np.int64(-1)) + np.int64(1))] = True


def check_near(values, scale):
    """Raise DataError for a rating more than FAR standard deviations from the mean of the model's ratings."""
    distance = np.abs(values.astype(np.float64) - scale.mean) / scale.deviation
    if len(distance) and distance.max() > FAR:
        raise DataError(
            f"A rating of {values[distance.argmax()]:g} is {distance.max():.3g} standard deviations from the mean of "
            f"the model's ratings ({scale.low:g} to {scale.high:g}). Correct it, or train again with it."
        )


def read_user_ratings(X, y, duplicates, bounds):
    """Return the Ratings of recommend_for's arguments, each pair once; raise DataError for none and outside bounds."""
    if isinstance(X, dict):
        check_types(list(X), "item")
        try:
            values = np.array(list(X.values()), np.float32)
        except (TypeError, ValueError) as error:
            raise DataError(f"The ratings of {{item: rating}} are not numbers ({error}).") from None
        X = np.zeros(len(X), np.int64), np.array(list(X)), values
    elif isinstance(X, list | set) and y is None and all(np.ndim(item) == 0 for item in X):  # one user's clicks
        check_types(X, "item")
        X = np.zeros(len(X), np.int64), np.array(list(X))
    ratings = table_of(X, y)
    if not are_pairs(ratings):
        check_range(ratings.values, bounds, lambda row: locate(ratings, row))
    ratings = merge_repeats(ratings, X, duplicates, timed=False, stacklevel=3)
    if not len(ratings):
        raise DataError("There are no ratings: 0 rows. Give at least one.")
    return ratings


def iterate_users(ratings, item_ids, order, scale):
    """Yield (user row, fold.UserRatings) of each user of Ratings with any, without unknown items.

    order: io.ids.ascending_order of item_ids, or None.
    """
    check_near(ratings.values, scale)
    rows = rows_of(ratings.item_ids, item_ids, "item", order)[ratings.items]
    z = (ratings.values.astype(np.float64) - scale.mean) / scale.deviation
    order = np.argsort(ratings.users, kind="stable")
    ends = np.cumsum(np.bincount(ratings.users, minlength=ratings.shape[0]))
    for user in np.unique(ratings.users).tolist():
        places = order[ends[user - 1] if user else 0 : ends[user]]
        places = places[rows[places] >= 0]
        yield user, UserRatings(rows[places], z[places])


def convert_ids(ids, known, what):
    """Return new ids in the type of the known ones, text or int64; raise DataError for text if the ids are numbers."""
    if known.dtype.kind == "U":
        return as_text(ids)
    if ids.dtype.kind in "iu":
        return ids.astype(np.int64)
    numbers = [spelled for text in ids.tolist() if (spelled := whole_number(text)) is not None]
    if len(numbers) < len(ids):
        text = next(text for text in ids.tolist() if whole_number(text) is None)
        raise DataError(
            f"The new {what} {text!r} is text, and the model's {len(known):,} {what} ids are whole numbers. Use an "
            "unused number as its id, or train again with ids that are text."
        )
    return np.array(numbers, np.int64)


def whole_number(text):
    """Return the int64 that an id spells as Python prints it, None for anything else."""
    try:
        value = int(text)
    except ValueError:
        return None
    return value if str(value) == text and -(2**63) <= value < 2**63 else None
