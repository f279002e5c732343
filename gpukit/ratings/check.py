"""Validate tables of ratings, once each.

Readers and generators mark their results as valid.
"""

import numpy as np

from gpukit.errors import DataError
from gpukit.io import trust
from gpukit.ratings.table import SOUND, marked

DTYPES = {
    "users": (np.int32,),
    "items": (np.int32,),
    "values": (np.float32,),
    "times": (np.int64,),
    "weights": (np.float32,),
    "counts": (np.int32, np.float32),
}
ONE = {"users": "user", "items": "item"}


def sound(ratings):
    """Return ratings, or raise DataError for an invalid table.

    Checked once: dtypes, lengths, row numbers, one unique id per row, finite ratings, weights and counts >= 0. Repeated
    pairs are checked in repeats.checked.
    """
    if ratings._state < SOUND:
        wrong = fault(ratings)
        if wrong:
            raise DataError(wrong)
        marked(ratings, SOUND)
    return ratings


def fault(ratings, bounds=None):
    """Return a one-line error of a table, repeated pairs aside, or None.

    bounds: {name: (low, high)} of columns with known ranges, as from arrayfile.read.
    """
    return misshapen(ratings) or _bad_ids(ratings) or _bad_entry(ratings, bounds or {})


def misshapen(ratings):
    """Return an error message on column types and lengths, or None."""
    lacking = [name for name in ("users", "items", "values") if not np.ndim(getattr(ratings, name)) == 1]
    if lacking:
        return (
            f"Ratings.{lacking[0]} must be a one-dimensional array; got {type(getattr(ratings, lacking[0])).__name__}."
        )
    for name, column in ratings.columns().items():
        plain = isinstance(column, np.ndarray) and not isinstance(column, np.ma.MaskedArray)
        if not plain or column.dtype not in DTYPES[name] or column.ndim != 1:
            wanted = " or ".join(np.dtype(kind).name for kind in DTYPES[name])
            found = f"{column.dtype}, {column.ndim}-D" if hasattr(column, "dtype") else type(column).__name__
            return f"Ratings.{name} must be a one-dimensional array of {wanted}; got {found}. as_ratings converts."
        if len(column) != len(ratings):
            return f"Ratings has {len(ratings):,} values, but {len(column):,} {name}: there must be one a rating."
    return None


def _bad_ids(ratings):
    for ids, what in ((ratings.user_ids, "user"), (ratings.item_ids, "item")):
        if not isinstance(ids, np.ndarray) or ids.ndim != 1:
            return f"Ratings.{what}_ids must be a one-dimensional array with an id for each row."
        if ids.dtype.kind not in "iuU" or ids.dtype == np.uint64:
            return f"Ratings.{what}_ids must be int64 or text; they are {ids.dtype}."
        twice = trust.repeated(ids)
        if twice is not None:
            return f"Ratings.{what}_ids has {what} {twice} twice; each id stands for one row."
    return None


def _bad_entry(ratings, bounds):
    for name, size in zip(("users", "items"), ratings.shape):
        low, high = bounds.get(name, (-1, -1))
        place = None if 0 <= low and high < size else trust.first_outside(getattr(ratings, name), 0, size)
        if place is not None:
            row = getattr(ratings, name)[place]
            what = f"beyond the {size:,} {name}, 0 to {size - 1:,}"
            return f"Rating number {place[0] + 1:,} has {ONE[name]} row {row}, {what}."
    low, high = bounds.get("values", (np.nan, np.nan))
    known = -np.inf < low and high < np.inf
    if not known and trust.first(trust.not_finite, ratings.values) is not None:
        bad = np.flatnonzero(~np.isfinite(ratings.values))
        return (
            f"Rating number {bad[0] + 1} is {ratings.values[bad[0]]}, not a finite number ({len(bad)} such). "
            "Remove those ratings first."
        )
    for name in ("weights", "counts"):
        column, (low, high) = getattr(ratings, name), bounds.get(name, (-1, -1))
        if column is None or (0 <= low and high < np.inf):
            continue
        place = trust.first(lambda block: ~((block >= 0) & np.isfinite(block)), column)
        if place is not None:
            one = name[:-1]
            return f"Rating number {place[0] + 1:,} has the {one} {column[place]}; {name} are finite, 0 or more."
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


def check_counts(counts, locate):
    """Raise DataError for the first of counts (n,) below 0.

    locate: function from a row to its description.
    """
    negative = np.flatnonzero(counts < 0)
    if len(negative):
        row = int(negative[0])
        raise DataError(
            f"{locate(row)} has the count {counts[row]:g}; counts are 0 or more. Correct or remove the line."
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
