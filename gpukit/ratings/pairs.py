"""(user, item) pairs for predict, and for fit with ratings y."""

import warnings

import numpy as np

from gpukit.base.arrays import aligned, as_array, as_text, plain
from gpukit.errors import DataError
from gpukit.io.arrays import is_frame
from gpukit.io.ids import check_types, factorize
from gpukit.ratings.check import sound
from gpukit.ratings.clicks import are_clicks
from gpukit.ratings.convert import as_values, made_of, times_of
from gpukit.ratings.headers import IDS, MAYBE, find_columns, has_ids
from gpukit.ratings.parts import RatingsPart
from gpukit.ratings.repeats import checked, merged_line, without_repeats
from gpukit.ratings.table import Ratings, without_times


def ratings_of(X, y=None, repeats=True):
    """Return the Ratings of X and y for fit and score.

    X: input of as_ratings (Ratings, users x items, a DataFrame of triples); or, with ratings y (n,), pairs as in
    pairs_of. Pandas' X and y are matched by their labels. If X is a matrix of users x items, y is ignored, as
    scikit-learn's pipelines expect. Masked entries are not rated. Of a repeated pair the later rating is kept if a
    DataFrame or Ratings have times, with a UserWarning of their number. repeats: as in as_ratings. Raises DataError.
    """
    if isinstance(X, RatingsPart):
        raise DataError("Ratings in parts are for fit. Pass those of this rank, which are its attribute local.")
    return checked(merge_repeats(table_of(X, y), X, stacklevel=3), repeats)


def table_of(X, y=None):
    """Return Ratings as ratings_of, with repeated pairs and a DataFrame's times; a RatingsPart as it is."""
    if isinstance(X, RatingsPart):
        return X
    if y is None or not is_pairs(X):
        return sound(made_of(X if hasattr(X, "iloc") else plain(X), times=MAYBE))
    if isinstance(X, tuple):
        users, items, y = aligned(users=X[0], items=X[1], y=y)
        X = users, items
    else:
        X, y = aligned(X=X, y=y)
    users, items = pairs_of(X)
    values = as_values(y)
    if values.shape != users.shape:
        raise DataError(f"y must hold a rating a pair, {len(users):,}; its shape is {values.shape}.")
    users, user_ids = factorize(users, "user")
    items, item_ids = factorize(items, "item")
    place = find_columns(X.columns).get("times") if is_frame(X) else None
    times = None if place is None else times_of(X.iloc[:, place], True)
    return sound(Ratings(users, items, values, user_ids, item_ids, times))


def merge_repeats(ratings, X, rule="last", timed=True, stacklevel=2):
    """Merge repeated pairs of X's Ratings, with a warning.

    Counts of clicks are summed without a warning. timed: merge only if there are times. Times of a DataFrame are used
    for this and then removed.
    """
    if type(ratings) is not Ratings or (timed and ratings.times is None):
        return ratings
    merged = without_repeats(ratings, rule)
    if merged.merged > ratings.merged and not are_clicks(ratings):
        warnings.warn(f"{merged_line(merged, rule)}.", stacklevel=stacklevel + 1)
    return merged if isinstance(X, Ratings) or merged.times is None else without_times(merged)


def is_pairs(X):
    """Return True if X, passed with a y, holds pairs.

    Raises DataError for a DataFrame with a rating column.
    """
    if isinstance(X, Ratings) or hasattr(X, "tocoo"):
        return False
    if isinstance(X, tuple):
        return len(X) == 2
    if not is_frame(X):
        shape = getattr(X, "shape", None)
        shape = shape if isinstance(shape, tuple) else as_array(X, "X").shape
        return len(shape) == 2 and shape[1] == 2
    places = find_columns(X.columns)
    if has_ids(places) and "values" in places:
        name = X.columns[places["values"]]
        raise DataError(f"the DataFrame has ratings ({name!r}), and y is given too: leave one out.")
    return has_ids(places) or X.shape[1] == 2


def pairs_of(X):
    """Return ids (users (n,), items (n,)) of pairs.

    X: a tuple (users, items), an (n, 2) array, or a DataFrame (user and item by name, else its first two columns).
    Raises DataError for other input.
    """
    if isinstance(X, tuple) and len(X) == 2:
        check_types(plain(X[0]), "user")
        check_types(plain(X[1]), "item")
        users, items = (as_array(side, "a side of the pairs") for side in aligned(users=X[0], items=X[1]))
    elif is_frame(X) and X.shape[1] >= 2:
        places = find_columns(X.columns)
        users, items = (X.iloc[:, places[role] if has_ids(places) else at].to_numpy() for at, role in enumerate(IDS))
        check_types(users, "user")
        check_types(items, "item")
    else:
        table = as_array(X, "X")
        if table.ndim != 2 or table.shape[1] != 2:
            raise DataError(
                f"pairs are needed: (users, items), an (n, 2) array, a DataFrame or Ratings; got shape {table.shape}."
            )
        users, items = map(_spelled, table.T)
    if users.ndim != 1 or users.shape != items.shape:
        raise DataError(
            f"the users have shape {users.shape}, the items {items.shape}. Pass two one-dimensional arrays of equal "
            "length."
        )
    return users, items


def _spelled(ids):
    """Return ids (n,) of an array of pairs, fractions as text: scikit-learn's checks pass random numbers."""
    is_fraction = ids.dtype.kind == "f" and not np.isnan(ids).any() and (ids != np.floor(ids)).any()
    return as_text(ids) if is_fraction else ids
