"""Validate tables of ratings, once each.

Readers and generators mark their results as valid.

Clicks (implicit feedback): pairs without ratings, with optional counts.

A table holds clicks if all its values are equal. Files of pairs get values of 1, and the number of occurrences of each
pair as counts. A table with counts and different ratings remains one of ratings.
"""

import numpy as np

from gpukit.errors import DataError
from gpukit.io import trust
from gpukit.ratings.table import SOUND, Ratings, set_state

DTYPES = {
    "users": (np.int32,),
    "items": (np.int32,),
    "values": (np.float32,),
    "times": (np.int64,),
    "weights": (np.float32,),
    "counts": (np.int32, np.float32),
}
ONE = {"users": "user", "items": "item"}


def validate_ratings(ratings, is_numbered=False):
    """Return ratings, or raise DataError for an invalid table.

    Checked once: dtypes, lengths, row numbers, one unique id per row, finite ratings, weights and counts >= 0. Repeated
    pairs are checked in repeats.validate. is_numbered: rows and ids were made of the input, so that only numbers need a
    check.
    """
    if ratings._state < SOUND:
        wrong = _bad_numbers(ratings, {}) if is_numbered else fault(ratings)
        if wrong:
            raise DataError(wrong)
        set_state(ratings, SOUND)
    return ratings


def fault(ratings, bounds=None):
    """Return a one-line error of a table, repeated pairs aside, or None.

    bounds: {name: (low, high)} of columns with known ranges, as from arrayfile.read.
    """
    bounds = bounds or {}
    return misshapen(ratings) or _bad_ids(ratings) or _bad_rows(ratings, bounds) or _bad_numbers(ratings, bounds)


def misshapen(ratings):
    """Return an error message on column types and lengths, or None."""
    for name, column in {**dict.fromkeys(("users", "items", "values")), **ratings.columns()}.items():
        plain = isinstance(column, np.ndarray) and not isinstance(column, np.ma.MaskedArray)
        if not plain or column.dtype not in DTYPES[name] or column.ndim != 1:
            wanted = " or ".join(np.dtype(kind).name for kind in DTYPES[name])
            kind = f"{column.dtype}, {column.ndim}-D" if hasattr(column, "dtype") else type(column).__name__
            return f"Ratings.{name} must be a one-dimensional array of {wanted}; got {kind}. as_ratings converts."
        if len(column) != len(ratings):
            return f"Ratings has {len(ratings):,} values, but {len(column):,} {name}: there must be one a rating."
    return None


def _bad_ids(ratings):
    for ids, what in ((ratings.user_ids, "user"), (ratings.item_ids, "item")):
        if not isinstance(ids, np.ndarray) or ids.ndim != 1:
            return f"Ratings.{what}_ids must be a one-dimensional array with an id for each row."
        if ids.dtype.kind not in "iuU" or ids.dtype == np.uint64:
            return f"Ratings.{what}_ids must be int64 or text; they are {ids.dtype}."
        twice = trust.first_repeated(ids)
        if twice is not None:
            return f"Ratings.{what}_ids has {what} {twice} twice; each id stands for one row."
    return None


def _bad_rows(ratings, bounds):
    for name, size in zip(("users", "items"), ratings.shape):
        low, high = bounds.get(name, (-1, -1))
        place = None if 0 <= low and high < size else trust.first_outside(getattr(ratings, name), 0, size)
        if place is not None:
            row = getattr(ratings, name)[place]
            what = f"beyond the {size:,} {name}, 0 to {size - 1:,}"
            return f"Rating number {place[0] + 1:,} has {ONE[name]} row {row}, {what}."
    return None


def _bad_numbers(ratings, bounds):
    low, high = bounds.get("values", (np.nan, np.nan))
    known = -np.inf < low and high < np.inf
    if not known and trust.first_wrong(trust.non_finite_mask, ratings.values) is not None:
        bad = np.flatnonzero(~np.isfinite(ratings.values))
        return (
            f"Rating number {bad[0] + 1} is {ratings.values[bad[0]]}, not a finite number ({len(bad)} such). "
            "Remove those ratings first."
        )
    for name in ("weights", "counts"):
        column, (low, high) = getattr(ratings, name), bounds.get(name, (-1, -1))
        if column is None or (0 <= low and high < np.inf):
            continue
        place = trust.first_wrong(lambda block: ~((block >= 0) & np.isfinite(block)), column)
        if place is not None:
            word = name[:-1]
            return f"Rating number {place[0] + 1:,} has the {word} {column[place]}; {name} are finite, 0 or more."
    return None


def check_range(values, bounds, locate):
    """Raise DataError for the first of values (n,) outside bounds (low, high).

    bounds: None accepts all; locate: function from a row to its description.
    """
    if bounds is None:
        return
    outside = np.flatnonzero((values < np.float32(bounds[0])) | (values > np.float32(bounds[1])))
    if len(outside):
        row, (low, high) = int(outside[0]), bounds
        known = f"the model's range, {low:g} to {high:g}" if high < np.inf else "the model's range, counts from 0 up"
        raise DataError(
            f"{locate(row)}: rating {values[row]:g} is outside {known}. Correct it, or let the model learn from it "
            "with widen_scale=True (gpukit update --widen-scale)."
        )


def check_declared(name, shape, count):
    """Raise DataError if a file declares far too many users or items."""
    most_empty, empty_a_rating = 1 << 24, 64  # limits of declared rows without ratings
    for what, size in zip(("users", "items"), shape):
        if size > max(most_empty, empty_a_rating * count):
            raise DataError(
                f"{name} declares {size:,} {what} and holds {count:,} ratings, too few for that many. Correct "
                f"its sizes, or number the {what} without such gaps."
            )


def with_values(columns):
    """Return {name: column}; pairs without ratings get values of 1, and count once if they have no counts."""
    if "values" in columns:
        return columns
    n = len(columns["users"])
    return {"counts": np.ones(n, np.int32), **columns, "values": np.ones(n, np.float32)}


def are_clicks(ratings):
    """Return True if all values of Ratings are equal."""
    sample = 4096  # values compared first
    first = ratings.first_values(sample)
    if not len(first) or (first != first[0]).any():
        return False
    return bool((ratings.values == first[0]).all())


def sample_values(ratings, count):
    """Return at most `count` values of Ratings, of all parts of a table on the host."""
    return ratings.values[:: len(ratings) // count + 1] if type(ratings) is Ratings else ratings.first_values(count)


def look_like_counts(ratings):
    """Return True for heavy-tailed whole numbers >= 0, unlike any rating scale."""
    far = 6  # times the median: the tail begins there; exponential tails have 1.6 % beyond
    tail_share, tail_levels = 0.001, 4  # least share of the values, and least different values, in a tail
    rating_levels = 11  # levels of a scale from 0 to 10, the longest rating scale
    values = sample_values(ratings, 1 << 20)
    if not len(values) or values.max() <= far or values.min() < 0 or (values % 1).any():
        return False
    levels, counts = np.unique(values[values > 0], return_counts=True)
    median = levels[np.searchsorted(np.cumsum(counts), counts.sum() / 2)]
    tail = levels / far > median
    is_long = counts[tail].sum() >= tail_share * len(values) and np.count_nonzero(tail) >= tail_levels
    return bool(is_long) and len(levels) > rating_levels


def code_of_missing(ratings):
    """Return (value, share of the ratings) of a value that may mean that there is no rating, or None.

    It is the only negative one, a 0 far more frequent than the next value, or further from all others than they are
    from each other.
    """
    others, least_share, frequent = 3, 0.01, 10  # values of a scale; share of a code; a 0 over the next value
    levels, counts = np.unique(sample_values(ratings, 1 << 16).astype(np.float64), return_counts=True)
    if len(levels) <= others:
        return None
    is_far = np.diff(levels)[[0, -1]] > (levels[-1] - levels[1], levels[-2] - levels[0])
    is_negative = levels[0] < 0 <= levels[1]
    is_frequent = levels[0] == 0 and counts[0] > frequent * counts[1]
    for end, is_code in ((0, is_far[0] or is_negative or is_frequent), (-1, is_far[1])):
        if is_code and counts[end] >= least_share * counts.sum():
            return float(levels[end]), float(counts[end] / counts.sum())
    return None


def number_lines(ratings):
    """Return True if the users' ids number the ratings from 0 or 1, as the row numbers of a data frame do."""
    few = 20  # a small example may have one rating a user
    n = len(ratings)
    if type(ratings) is not Ratings or n < few or ratings.shape[0] != n or ratings.user_ids.dtype.kind != "i":
        return False
    numbers = np.arange(n)
    first_ids = any(np.array_equal(ratings.user_ids, numbers + first) for first in (0, 1))
    return first_ids and np.array_equal(ratings.users, numbers)


def are_pairs(ratings):
    """Return True for clicks with counts and values of 1."""
    return ratings.counts is not None and len(ratings) > 0 and ratings.values[0] == 1 and are_clicks(ratings)


def clicks_of(ratings, positive_from=None):
    """Convert ratings to clicks: values of 1 and counts (None: once each).

    A click is a rating >= positive_from, or a count >= positive_from if all values are equal. Without positive_from it
    is a value above 0, and different ratings become counts. Raises DataError if no click is left, and if positive_from
    is given for pairs without ratings and with equal counts.
    """
    score, counts = scores_and_counts(ratings, positive_from)
    positive = score >= positive_from if positive_from is not None else score > 0
    if not positive.any():
        raise DataError(no_clicks_message(score, positive_from))
    clicks = ratings if positive.all() else ratings.take(positive)
    columns = {name: column for name, column in clicks.columns().items() if name in ("users", "items", "times")}
    if counts is not None:
        columns["counts"] = counts if clicks is ratings else counts[positive]
    return clicks.with_columns(**columns, values=np.ones(len(clicks), np.float32))


def ratings_below(ratings, positive_from):
    """Return the Ratings that are no clicks because of positive_from, values of 0 aside; None without any.

    Their users know these items. A 0 may mean that there is no rating.
    """
    is_counted = ratings.counts is not None and are_clicks(ratings)
    if positive_from is None or is_counted and np.ptp(ratings.counts) == 0:
        return None
    score = ratings.counts if is_counted else ratings.values
    below = (score < positive_from) & (score != 0)
    return ratings.take(below) if below.any() else None


def clicks_after(ratings, positive_from=None):
    """Convert ratings that arrive after training with positive_from, as `clicks_of`.

    Pairs with equal counts are clicks as they are. Equal ratings are all clicks or none. Raises DataError if no click
    is left.
    """
    if positive_from is None or not are_clicks(ratings):
        return clicks_of(ratings, positive_from)
    if are_pairs(ratings):
        return clicks_of(ratings, None if np.ptp(ratings.counts) == 0 else positive_from)
    if ratings.values[0] < positive_from:
        raise DataError(no_clicks_message(ratings.values, positive_from))
    return clicks_of(ratings)


def scores_and_counts(ratings, positive_from):
    """Return (scores (n,) to compare with a threshold, counts (n,) or None)."""
    is_clicks = are_clicks(ratings)
    if not is_clicks:
        return ratings.values, ratings.counts if positive_from is not None else np.maximum(
            ratings.values, np.float32(0)
        )
    if positive_from is not None and (ratings.counts is None or np.ptp(ratings.counts) == 0):
        raise DataError(
            f"positive_from={positive_from:g} asks for ratings, and these {len(ratings):,} pairs have none: "
            "each is a click as it is. Leave it out."
        )
    return (np.ones_like(ratings.values) if ratings.counts is None else ratings.counts), ratings.counts


def no_clicks_message(score, positive_from):
    """Return the error message if no click is left."""
    if positive_from is None or not len(score):
        return f"No click is left: all {len(score):,} values are 0 or less. A click has a value above 0."
    return (
        f"No click is left: positive_from={positive_from:g} is more than the highest value, {score.max():g}. Take a "
        "lower one."
    )


def check_shape(ratings):
    """Raise DataError unless there are ratings of two users and two items."""
    if not len(ratings):
        raise DataError(
            "There are no ratings to learn from: 0 rows. Give at least two users and two items with ratings."
        )
    if min(ratings.shape) < 2:
        users, items = ratings.shape
        raise DataError(
            f"Learning from {users} user(s) and {items} item(s) is not possible: give at least two of each."
        )
