"""New ratings in a model's rows: ids that it does not know are appended, old rows keep their numbers."""

from typing import NamedTuple

import numpy as np

from gpukit._jit import njit
from gpukit.base.arrays import as_text
from gpukit.errors import DataError, ParameterError
from gpukit.factorization.update.fold import Given
from gpukit.factorization.weights import counted
from gpukit.io.ids import check_types, rows_of
from gpukit.ratings.check import check_range
from gpukit.ratings.clicks import are_pairs
from gpukit.ratings.pairs import merge_repeats, table_of

FAR = 1000.0  # standard deviations: what lies beyond is no rating of the same scale
SOME, KNOWN = 10, 30  # new ratings, and known ones, of which it can be told whether their scales are the same


class NewRatings(NamedTuple):
    """n new ratings: users, items (n,) int32 rows of the grown model, values (n,) float32, each pair once; user_ids,
    item_ids: the model's, the new ones behind them."""

    users: np.ndarray
    items: np.ndarray
    values: np.ndarray
    user_ids: np.ndarray
    item_ids: np.ndarray

    def __len__(self):
        return len(self.values)

    @property
    def shape(self):
        """(M, N) of the grown model."""
        return len(self.user_ids), len(self.item_ids)


def part_of(new, y, user_ids, item_ids, duplicates, taken, bounds=None):
    """The NewRatings of what fit takes (new, y), in the rows of a model with these ids.

    duplicates: what a pair means that comes twice in it (gpukit.ratings.repeats); taken: a function that gives the
    Ratings that are learned of those that were read; bounds: (low, high) of the ratings, see bounds_of. Raises
    DataError, ParameterError.
    """
    ratings = table_of(new, y)
    if not are_pairs(ratings):
        check_range(ratings.values, bounds, lambda row: locate(ratings, row))
    ratings = unweighted(merge_repeats(ratings, new, duplicates, timed=False, stacklevel=4))
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
    """The NewRatings of Ratings in the rows of a model with these ids, pairs as often as they come; finders: of users
    and of items, what rows_of does. DataError."""
    users, user_ids = grown(ratings.users, ratings.user_ids, user_ids, "user", finders[0])
    items, item_ids = grown(ratings.items, ratings.item_ids, item_ids, "item", finders[1])
    return NewRatings(users, items, ratings.values, user_ids, item_ids)


def rated(ratings, scale, known=0):
    """Ratings; DataError for clicks, whose values of 1 would pass for the worst ratings of a Scale that has several,
    and for ratings of another scale than the `known` ones that a model has learned from (0: not asked)."""
    if scale.low < scale.high and are_pairs(ratings):
        raise DataError(
            f"There are pairs without ratings, and the model is of ratings from {scale.low:g} to {scale.high:g}. Name "
            "the column of ratings, or train a model of clicks."
        )
    if known >= KNOWN:
        check_scale(ratings.values, scale)
    return ratings


def check_scale(values, scale):
    """DataError where most of SOME values or more lie beyond all that a model has learned from: of the same scale few
    do, and one that has widened to them would let predictions go as far."""
    beyond = np.count_nonzero((values < scale.low) | (values > scale.high))
    if len(values) >= SOME and 2 * beyond > len(values) and scale.low < scale.high:
        raise DataError(
            f"{beyond:,} of {len(values):,} ratings, which go from {values.min():g} to {values.max():g}, lie beyond "
            f"all that the model has learned from ({scale.low:g} to {scale.high:g}). Bring them to that scale, or "
            "train again with them."
        )


def unweighted(ratings):
    """Ratings without those that count nothing; ParameterError where the others do not count alike."""
    ratings = counted(ratings)
    if ratings.weights is not None:
        raise ParameterError(
            "An update takes no weights: what was learned before is not weighed. Leave the column out."
        )
    return ratings


def grown(rows, ids, known, what, find=rows_of):
    """(rows (n,) int32 in the grown ids, the grown ids): those of ids that occur in rows and are not known, behind the
    known ones; find: what rows_of does.

    Whole numbers are found among ids that are text, and text that spells whole numbers among ids that are numbers.
    DataError for a new id of another kind than the known ones.
    """
    if ids is known:
        return rows, known
    if begins_with(ids, known):
        return behind(rows, ids, len(known))
    own = find(ids, known, what)
    fresh = np.flatnonzero((own < 0) & occurring(rows, 0, len(ids)))
    own[fresh] = np.arange(len(known), len(known) + len(fresh), dtype=np.int32)
    renamed = np.empty(len(rows), np.int32)
    rename(rows, 0, own, renamed)
    if not len(fresh):
        return renamed, known
    return renamed, np.concatenate((known, same_kind(ids[fresh], known, what)))


def begins_with(ids, known):
    """Whether ids are the known ones, in their order, and perhaps others behind them."""
    same_type = ids.dtype == known.dtype or ids.dtype.kind == known.dtype.kind == "U"
    if len(ids) < len(known) or not same_type:
        return False
    return is_beginning(ids, known) or np.array_equal(ids[: len(known)], known)


def is_beginning(ids, known):
    """Whether the known ids are the very memory in which ids begin: parts of one array that grows."""
    first, other = ids.__array_interface__, known.__array_interface__
    return ids.dtype == known.dtype and first["data"] == other["data"] and ids.strides == known.strides


def behind(rows, ids, count):
    """(rows (n,) int32, ids) without those ids from number `count` on that do not occur in rows."""
    seen = occurring(rows, count, len(ids))
    if seen.all():
        return rows, ids
    renamed = np.empty(len(rows), np.int32)
    rename(rows, count, count - 1 + np.cumsum(seen, dtype=np.int32), renamed)
    return renamed, np.concatenate((ids[:count], ids[count:][seen]))


def occurring(rows, first, end):
    """(end - first,) bool: which numbers from first on, below end, are among rows (n,) int32."""
    seen = np.zeros(1 + end - first, np.bool_)
    mark(rows, first, seen)
    return seen[1:]


@njit
def mark(rows, first, seen):
    """seen[1 + r - first] = True for rows (n,) from first on; seen[0] for those before it.

    One thread: others are longer in waking than a million rows take. Without a branch: of old and new rows in any order
    every other one would be guessed wrong, which takes ten times as long as all else.
    """
    for t in range(rows.size):
        seen[np.uint64(max(np.int64(rows[t]) - first, np.int64(-1)) + np.int64(1))] = True


@njit
def rename(rows, first, names, renamed):
    """renamed[t] = names[rows[t] - first] where that is first or more, else rows[t]; all (n,) int32 but names."""
    for t in range(rows.size):
        renamed[t] = names[rows[t] - first] if rows[t] >= first else rows[t]


def check_near(values, scale):
    """DataError for a rating FAR from the mean of the ratings that a model has learned from."""
    away = np.abs(values.astype(np.float64) - scale.mean) / scale.deviation
    if len(away) and away.max() > FAR:
        raise DataError(
            f"A rating of {values[away.argmax()]:g} is {away.max():.3g} standard deviations from the mean of those "
            f"that the model has learned from ({scale.low:g} to {scale.high:g}). Correct it, or train again with it."
        )


def lists_of(X, y, duplicates, bounds):
    """Ratings of what recommend_for takes, each pair once; DataError without any, and for one outside bounds."""
    if isinstance(X, dict):
        check_types(list(X), "item")
        try:
            values = np.array(list(X.values()), np.float32)
        except (TypeError, ValueError) as error:
            raise DataError(f"The ratings of {{item: rating}} are no numbers ({error}).") from None
        X = np.zeros(len(X), np.int64), np.array(list(X)), values
    elif isinstance(X, list | set) and y is None and all(np.ndim(one) == 0 for one in X):  # items that one user clicked
        check_types(X, "item")
        X = np.zeros(len(X), np.int64), np.array(list(X))
    ratings = table_of(X, y)
    if not are_pairs(ratings):
        check_range(ratings.values, bounds, lambda row: locate(ratings, row))
    ratings = merge_repeats(ratings, X, duplicates, timed=False, stacklevel=3)
    if not len(ratings):
        raise DataError("There are no ratings to go by: 0 rows. Give at least one.")
    return ratings


def given_to(ratings, item_ids, scale):
    """Yield (user row, fold.Given) for each user of Ratings who has any; of items that are not known nothing."""
    check_near(ratings.values, scale)
    rows = rows_of(ratings.item_ids, item_ids, "item")[ratings.items]
    z = (ratings.values.astype(np.float64) - scale.mean) / scale.deviation
    order = np.argsort(ratings.users, kind="stable")
    ends = np.cumsum(np.bincount(ratings.users, minlength=ratings.shape[0]))
    for user in np.unique(ratings.users).tolist():
        own = order[ends[user - 1] if user else 0 : ends[user]]
        own = own[rows[own] >= 0]
        yield user, Given(rows[own], z[own])


def same_kind(ids, known, what):
    """New ids as the known ones are kept: text, or int64. DataError for text where the ids are numbers."""
    if known.dtype.kind == "U":
        return as_text(ids)
    if ids.dtype.kind in "iu":
        return ids.astype(np.int64)
    numbers = [spelled for text in ids.tolist() if (spelled := whole_number(text)) is not None]
    if len(numbers) < len(ids):
        odd = next(text for text in ids.tolist() if whole_number(text) is None)
        raise DataError(
            f"The new {what} {odd!r} is text, and the model's {len(known):,} {what} ids are whole numbers. Name it by "
            "a number that is free, or train again with ids that are text."
        )
    return np.array(numbers, np.int64)


def whole_number(text):
    """The int64 that an id spells as Python prints it, None for anything else."""
    try:
        value = int(text)
    except ValueError:
        return None
    return value if str(value) == text and -(2**63) <= value < 2**63 else None
