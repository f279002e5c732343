"""Clicks (implicit feedback): pairs without ratings, with optional counts.

A table holds clicks if all its values are equal. Files of pairs get values of 1, and the number of occurrences of each
pair as counts. A table with counts and different ratings remains one of ratings.
"""

import numpy as np

from gpukit.errors import DataError
from gpukit.ratings.table import Ratings


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


def look_like_counts(ratings):
    """Return True for heavy-tailed whole numbers >= 0, unlike any rating scale."""
    tested = 1 << 20  # values tested for a heavy tail
    far = 6  # times the median: the tail begins there; exponential tails have 1.6 % beyond
    tail_share, tail_levels = 0.001, 4  # least share of the values, and least different values, in a tail
    rating_levels = 11  # levels of a scale from 0 to 10, the longest rating scale
    on_host = type(ratings) is Ratings
    values = ratings.values[:: len(ratings) // tested + 1] if on_host else ratings.first_values(tested)
    if not len(values) or values.max() <= far or values.min() < 0 or (values % 1).any():
        return False
    levels, counts = np.unique(values[values > 0], return_counts=True)
    median = levels[np.searchsorted(np.cumsum(counts), counts.sum() / 2)]
    tail = levels > far * median
    is_long = counts[tail].sum() >= tail_share * len(values) and np.count_nonzero(tail) >= tail_levels
    return bool(is_long) and len(levels) > rating_levels


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
        raise DataError(none_left(score, positive_from))
    kept = ratings if positive.all() else ratings.take(positive)
    columns = {name: column for name, column in kept.columns().items() if name in ("users", "items", "times")}
    if counts is not None:
        columns["counts"] = counts if kept is ratings else counts[positive]
    return kept.with_columns(**columns, values=np.ones(len(kept), np.float32))


def rated_below(ratings, positive_from):
    """Return the Ratings that are no clicks because of positive_from, values of 0 aside; None without any.

    Their users know these items. A 0 may mean that there is no rating.
    """
    alike = are_clicks(ratings)
    if positive_from is None or alike and (ratings.counts is None or np.ptp(ratings.counts) == 0):
        return None
    score = ratings.counts if alike else ratings.values
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
        raise DataError(none_left(ratings.values, positive_from))
    return clicks_of(ratings)


def scores_and_counts(ratings, positive_from):
    """Return (scores (n,) to compare with a threshold, counts (n,) or None)."""
    alike = are_clicks(ratings)
    if not alike:
        return ratings.values, ratings.counts if positive_from is not None else counted(ratings.values)
    if positive_from is not None and (ratings.counts is None or np.ptp(ratings.counts) == 0):
        raise DataError(
            f"positive_from={positive_from:g} asks for ratings, and these {len(ratings):,} pairs have none: "
            "each is a click as it is. Leave it out."
        )
    return (np.ones_like(ratings.values) if ratings.counts is None else ratings.counts), ratings.counts


def counted(values):
    """Return values as counts, clipped at 0."""
    return np.maximum(values, np.float32(0))


def none_left(score, positive_from):
    """Return the error message if no click is left."""
    if positive_from is None:
        return f"No click is left: all {len(score):,} values are 0 or less. A click has a value above 0."
    return (
        f"No click is left: positive_from={positive_from:g} is more than the highest value, {score.max():g}. Take a "
        "lower one."
    )
