"""Adopt data of any form as Ratings: converted once, validated once. Pairs for predict; y and weights for fit.

    adopt(X, y): the converter of X's form and validate_ratings; then as asked: weights, merge_repeats

| X                                        | converter           |
|------------------------------------------|---------------------|
| Ratings, also made by hand               | `_from_ratings`     |
| pairs of ids, with y                     | `_from_pairs`       |
| sparse matrix, users x items             | `_from_sparse`      |
| DataFrame                                | `_from_frame`       |
| (users, items, values) or (users, items) | `_from_columns`     |
| array, users x items                     | `_from_dense`       |

A rating of weight w is learned as if it came w times: its step and its part of every mean are multiplied by w. Weights
are relative: they are divided by their mean, so that rates and damping keep their meaning. Ratings of weight 0 are
excluded.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Literal

import numpy as np

from gpukit.base.arrays import align_rows, as_array, as_numbers, as_plain, as_text, axes, labels
from gpukit.errors import DataError
from gpukit.io import trust
from gpukit.io.arrays import as_frame, is_frame, whole_column
from gpukit.io.ids import as_whole, check_types, factorize
from gpukit.io.times import as_seconds
from gpukit.io.words import TOO_SMALL, rounds_to_zero
from gpukit.ratings import formats
from gpukit.ratings.check import ONE, are_clicks, misshapen, validate_ratings, with_values
from gpukit.ratings.formats import IDS, MAYBE, NUMBERS, WORDS, Request, find_columns
from gpukit.ratings.parts import RatingsPart
from gpukit.ratings.repeats import merged_line, validate, without_repeats
from gpukit.ratings.table import Ratings, as_counts, without_times

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpukit.typing import RatingsLike

FORMS = (
    "a scipy sparse matrix, a DataFrame with user, item and rating, a dense array (NaN or masked = not rated), a "
    "tuple or list of arrays (users, items, values) or, of clicks, (users, items), or what read_ratings returns"
)


def as_ratings(
    data: RatingsLike,
    columns: str | Sequence[str] | None = None,
    times: bool | Literal["auto"] = False,
    repeats: bool = True,
) -> Ratings:
    """Convert data to validated Ratings.

    Parameters
    ----------
    data : Ratings, sparse matrix, DataFrame, tuple, list or array
        Ratings (also made by hand). A scipy sparse matrix or array of users x items (explicit zeros are ratings). A
        DataFrame of pandas, or of any library with to_pandas: columns user, item, rating by name, or the first three of
        at most four. A tuple or list of arrays (users, items, values). A dense (M, N) float array; NaN or masked is not
        rated. Arrays of cupy, torch and others with __cuda_array_interface__ or __dlpack__ are copied to the host. Rows
        and columns of matrices get the ids 0..M-1 and 0..N-1.
    columns, times
        Of a DataFrame, as in read_ratings.
    repeats : bool
        Check repeated pairs also without times. order_ratings, which sorts all ratings, detects them at lower cost.

    Returns
    -------
    Ratings
        Of a repeated pair, the later rating by the times of a DataFrame's column (timestamp, time, date) or of Ratings
        is kept; `merged` is the number of ratings removed.

    Raises
    ------
    DataError
        The type is another one; ratings are missing, NaN or infinite; pairs are repeated and have no times; or a dense
        array has two to four columns (or rows) whose first two hold only whole numbers.

    Examples
    --------
    >>> from gpukit import as_ratings
    >>> as_ratings(([7, 7, 9], [1, 2, 1], [5.0, 3.0, 4.0]))
    Ratings(3 ratings, 2 users, 2 items)
    """
    _refuse_part(data)
    adopted = adopt(data, columns=columns, times=times or MAYBE)
    ratings = validate(adopted, repeats)
    if times and ratings.merged > adopted.merged and ratings is not data and adopted.times is not None:
        ratings = without_repeats(adopted, "last", adopt(data, columns=columns).times)
    return ratings if times or isinstance(data, Ratings) else without_times(ratings)


def ratings_of(X, y=None, repeats=True):
    """Return the Ratings of X and y for fit and score.

    X: input of as_ratings (Ratings, users x items, a DataFrame of triples); or, with ratings y (n,), pairs as in
    pairs_of. Pandas' X and y are matched by their labels. If X is a matrix of users x items, y is ignored, as
    scikit-learn's pipelines expect. Masked entries are not rated. Of a repeated pair the later rating is kept if a
    DataFrame or Ratings have times, with a UserWarning of their number. repeats: as in as_ratings. Raises DataError.
    """
    _refuse_part(X)
    return validate(merge_repeats(adopt(X, y), X, stacklevel=3), repeats)


def _refuse_part(X):
    if isinstance(X, RatingsPart):
        raise DataError("Ratings in parts are for fit. Pass those of this rank, which are its attribute local.")


def adopt(X, y=None, columns=None, times=MAYBE):
    """Return the validated Ratings of X and y, with repeated pairs; a RatingsPart as it is.

    X, y: as in ratings_of; columns, times: of a DataFrame, as in read_ratings, or MAYBE.
    """
    if isinstance(X, RatingsPart):
        return X
    X = as_frame(X)
    if y is not None and _is_pairs(X):
        return _from_pairs(X, y)
    X = as_frame(X.to_frame()) if hasattr(X, "to_frame") else X
    if isinstance(X, Ratings):
        return validate_ratings(_from_ratings(X))
    if hasattr(X, "tocoo"):
        return _from_sparse(X)
    if is_frame(X):
        return _from_frame(X, columns, times)
    if _is_columns(X):
        return _from_columns(*X)
    if isinstance(X := as_plain(X), list | tuple) or hasattr(X, "__array__"):
        return _from_dense(X)
    raise DataError(f"Ratings cannot be made from {type(X).__name__}: give {FORMS}.")


def _is_columns(data):
    """Return True for a tuple or list of two or three columns; a list of tuples has a tuple for each rating."""
    if not isinstance(data, list | tuple) or len(data) not in (2, 3):
        return False
    is_rows = isinstance(data, list) and all(isinstance(part, tuple) for part in data)
    return not is_rows and all(axes(as_plain(part)) == 1 for part in data)


def _from_ratings(ratings):
    """Return Ratings, perhaps made by hand, with a table's dtypes; unchanged if correct."""
    known = [getattr(getattr(ratings, f"{what}_ids"), "dtype", None) for what in ("user", "item")]
    if ratings._state or misshapen(ratings) is None and not any(getattr(kind, "kind", "") == "T" for kind in known):
        return ratings
    result = ratings.columns()
    ways = {"times": as_seconds, "counts": lambda column: as_counts(as_array(column, "counts", np.float64))}
    columns = {name: ways.get(name, as_values)(as_plain(result[name])) for name in result if name not in ONE}
    ids = {f"{value}_ids": as_array(getattr(ratings, f"{value}_ids"), f"{value}_ids") for value in ("user", "item")}
    if any(known.ndim != 1 for known in ids.values()):
        raise DataError("Ratings.user_ids and item_ids must be one-dimensional arrays with an id for each row.")
    users = _as_rows(as_plain(ratings.users), len(ids["user_ids"]), "user")
    items = _as_rows(as_plain(ratings.items), len(ids["item_ids"]), "item")
    return Ratings(users=users, items=items, **columns, **ids)


def _as_rows(rows, size, what):
    """Return row numbers as int32; DataError for values outside [0, size)."""
    rows = as_array(rows, f"{what} rows")
    if rows.dtype.kind not in "iu" or rows.ndim != 1:
        raise DataError(f"The {what} rows of Ratings are {rows.dtype}, {rows.ndim}-D; they must be whole numbers.")
    beyond = (rows < 0) | (rows >= size)
    if beyond.any():
        index = int(np.argmax(beyond))
        raise DataError(f"Rating number {index + 1:,} has {what} row {rows[index]}, beyond the {size:,} {what}s.")
    return rows.astype(np.int32)


def _from_sparse(matrix):
    is_checked = trust.check_sparse("The matrix", matrix) and max(matrix.shape) <= np.iinfo(np.int32).max
    coo = matrix.tocoo()
    if len(coo.shape) != 2:
        raise DataError(f"A sparse matrix of users x items has two dimensions; this one has {len(coo.shape)}.")
    users, items, values = map(as_plain, (coo.row, coo.col, coo.data))
    return validate_ratings(ratings_of_matrix(users, items, as_values(values), coo.shape), is_numbered=is_checked)


def _from_dense(array):
    array = as_array(array, "the matrix")
    try:
        dense = as_values(array)
    except DataError as error:
        raise DataError(f"{error} Ratings are {FORMS}.") from error
    if dense.ndim != 2:
        raise DataError(f"Dense ratings must be a users x items array (NaN = not rated); got {dense.ndim}-D.")
    _refuse_columns(array)
    users, items = np.nonzero(~np.isnan(dense))
    return validate_ratings(ratings_of_matrix(users, items, dense[users, items], dense.shape), is_numbered=True)


def _refuse_columns(array):
    """Raise DataError for a dense array that looks like columns of triples."""
    for axis, table in enumerate((array, array.T)):
        width = table.shape[1]
        if not len(table) or width not in (2, 3, 4):
            continue
        ids = table[:, :2].astype(np.float64)
        if np.isfinite(ids).all() and (ids == np.floor(ids)).all():
            columns = ", ".join((f"X[:, {index}]", f"X[{index}]")[axis] for index in range(min(width, 3)))
            raise DataError(
                f"The first two {('columns', 'rows')[axis]} of the {array.shape[0]:,} x {array.shape[1]:,} array X are "
                f"whole numbers, which may be ids of users and items. Pass the columns as a tuple, ({columns}); for a "
                "matrix of ratings pass scipy.sparse.csr_array(X)."
            )


def ratings_of_matrix(users, items, values, shape):
    """Return Ratings of a matrix with row numbers as ids."""
    ids = (np.arange(size, dtype=np.int64) for size in shape)
    return Ratings(users.astype(np.int32), items.astype(np.int32), np.asarray(values, dtype=np.float32), *ids)


def _from_frame(frame, columns, times):
    """Return Ratings of a pandas DataFrame; columns and times as in as_ratings."""
    if hasattr(frame, "to_delayed"):
        raise DataError("A Dask DataFrame is for fit(frame, client=client). Pass frame.compute() elsewhere.")
    if frame.shape[1] < 2:
        _refuse_labels(frame)
        raise DataError(f"The DataFrame has {frame.shape[1]} column(s); user, item and rating are needed.")
    places, is_header = formats.columns_of(list(frame.columns), Request(columns=columns, times=times), "The DataFrame")
    if not is_header and columns is None:
        _check_unnamed(frame, places)
    columns = {}
    for role in IDS:
        columns[role] = frame.iloc[:, places[role]].to_numpy()
        check_types(columns[role], WORDS[role])
    if "times" in places:
        columns["times"] = _times_of(frame.iloc[:, places["times"]], times == MAYBE)
    for role in (role for role in NUMBERS if role in places):
        label = f"The {WORDS[role]}s (column {frame.columns[places[role]]!r} of the DataFrame)"
        dtype = np.float64 if role == "counts" else np.float32
        numbers = as_values(whole_column(frame.iloc[:, places[role]], WORDS[role]), label, dtype)
        columns[role] = as_counts(numbers) if role == "counts" else numbers
    return _numbered(columns.pop("users"), columns.pop("items"), columns)


def _check_unnamed(frame, places):
    """Raise DataError if the first columns of a frame may not be user, item and rating, in this order.

    places: {role: position}. The index or the columns may be users or items, or a name may contradict its position.
    """
    _refuse_labels(frame)
    roles = [next(iter(find_columns([name])), None) for name in frame.columns]
    is_contradicted = any(role and places.get(role) != place for place, role in enumerate(roles))
    is_numbered = all(isinstance(name, int | np.integer) for name in frame.columns)
    is_pivot = is_numbered and list(frame.columns) != list(range(frame.shape[1]))
    if is_pivot or frame.shape[1] > formats.MOST_UNNAMED or is_contradicted:
        formats.refuse_unclear(frame.columns, "The DataFrame", "columns=")


def _refuse_labels(frame):
    """Raise DataError for a frame whose index or columns are users or items by their names."""
    labels = [*frame.index.names, *frame.columns.names]
    if any(formats.normalize_name(label) in formats.USER | formats.ITEM for label in labels if label is not None):
        raise DataError(
            f"The index or the columns of the DataFrame are {' and '.join(repr(label) for label in labels if label)}. "
            "Pass frame.reset_index(), or, of a table with a column for each item, frame.stack().reset_index()."
        )


def _from_columns(users, items, values=None):
    """Return Ratings of columns (n,) of ids and ratings; without ratings the pairs are clicks."""
    users, items, values = align_rows(users=users, items=items, values=values)
    users, items = as_plain(users), as_plain(items)
    check_types(users, "user")
    check_types(items, "item")
    if isinstance(values, np.ma.MaskedArray):  # masked: not rated
        seen = ~np.ma.getmaskarray(values)
        users, items, values = np.asarray(users)[seen], np.asarray(items)[seen], values.compressed()
    columns = {} if values is None else {"values": as_values(as_plain(values))}
    n_values = len(columns.get("values", items))
    if not len(users) == len(items) == n_values:
        raise DataError(
            f"(users, items, values) have {len(users):,}, {len(items):,} and {n_values:,} entries; a rating "
            "needs one of each."
        )
    return _numbered(users, items, columns)


def _from_pairs(X, y):
    """Return Ratings of pairs X, see pairs_of, and their ratings y (n,)."""
    X = _as_tuple(X)
    if isinstance(X, tuple):
        users, items, y = align_rows(users=X[0], items=X[1], y=y)
        X = users, items
    else:
        X, y = align_rows(X=X, y=y)
    users, items = pairs_of(X)
    columns = {"values": as_values(y)}
    if columns["values"].shape != users.shape:
        raise DataError(f"y must hold a rating a pair, {len(users):,}; its shape is {columns['values'].shape}.")
    place = find_columns(X.columns).get("times") if is_frame(X) else None
    if place is not None:
        columns["times"] = _times_of(X.iloc[:, place], True)
    return _numbered(users, items, columns)


def _is_pairs(X):
    """Return True if X, passed with a y, holds pairs.

    Raises DataError for Ratings, three columns and a DataFrame with a rating column.
    """
    X = _as_tuple(X)
    if hasattr(X, "tocoo"):
        return False
    if isinstance(X, tuple) and len(X) == 2:
        return True
    is_rows = isinstance(X, list) and len(X[:1]) and axes(X[0]) and len(X[0]) == 2
    if isinstance(X, Ratings) or (_is_columns(X) and not is_rows):
        raise DataError("X has ratings, and y is given too: leave one out.")
    if not is_frame(X):
        shape = getattr(X, "shape", None)
        shape = shape if isinstance(shape, tuple) else as_array(X, "X").shape
        return len(shape) == 2 and shape[1] == 2
    places = find_columns(X.columns)
    is_named = {*IDS} <= places.keys()
    if is_named and "values" in places:
        name = X.columns[places["values"]]
        raise DataError(f"the DataFrame has ratings ({name!r}), and y is given too: leave one out.")
    if not is_named and X.shape[1] != 2:
        names = ", ".join(map(str, X.columns))
        raise DataError(
            f"With y, X has users and items, but its columns are {names:.200}. Pass these two columns alone."
        )
    return True


def _as_tuple(X):
    """Return the pairs [users, items] as a tuple, other X unchanged; DataError for two lists of two ids."""
    if not isinstance(X, list) or len(X) != 2 or not _is_columns(X):
        return X
    if all(isinstance(part, list) and len(part) == 2 for part in X):
        raise DataError(
            f"{X!r:.80} may be two pairs or users and items. Pass a tuple (users, items), or numpy.array(pairs)."
        )
    return tuple(X)


def pairs_of(X):
    """Return ids (users (n,), items (n,)) of pairs.

    X: a tuple or list [users, items], an (n, 2) array, or a DataFrame (user and item by name, else its first two
    columns). Raises DataError for other input.
    """
    X = as_frame(_as_tuple(X))
    if isinstance(X, tuple) and len(X) == 2:
        check_types(as_plain(X[0]), "user")
        check_types(as_plain(X[1]), "item")
        users, items = (as_array(side, "a side of the pairs") for side in align_rows(users=X[0], items=X[1]))
    elif is_frame(X) and X.shape[1] >= 2:
        formats.refuse_repeated(list(X.columns), IDS, "The DataFrame")
        places = find_columns(X.columns)
        users, items = (
            X.iloc[:, places[role] if {*IDS} <= places.keys() else index].to_numpy() for index, role in enumerate(IDS)
        )
        check_types(users, "user")
        check_types(items, "item")
    else:
        table = as_array(X, "X")
        if table.ndim != 2 or table.shape[1] != 2:
            raise DataError(
                f"pairs are needed: (users, items), an (n, 2) array, a DataFrame or Ratings; got shape {table.shape}."
            )
        check_types(table.T[0], "user")
        check_types(table.T[1], "item")
        users, items = map(_spell_fractions, table.T)
    if users.ndim != 1 or users.shape != items.shape:
        raise DataError(
            f"the users have shape {users.shape}, the items {items.shape}. Pass two one-dimensional arrays of equal "
            "length."
        )
    return users, items


def _spell_fractions(ids):
    """Return ids (n,) of an array of pairs, fractions as text: scikit-learn's checks pass random numbers."""
    is_fraction = ids.dtype.kind == "f" and not np.isnan(ids).any() and (ids != np.floor(ids)).any()
    return as_text(as_whole(ids)) if is_fraction else ids


def _numbered(users, items, columns):
    """Return validated Ratings of ids (n,) and {name: column (n,)}; without values the pairs are clicks."""
    users, user_ids = factorize(users, "user")
    items, item_ids = factorize(items, "item")
    columns = with_values({"users": users, "items": items, **columns})
    return validate_ratings(Ratings(**columns, user_ids=user_ids, item_ids=item_ids), is_numbered=True)


def as_values(values, label="The ratings", dtype=np.float32):
    """Return ratings as a dtype; DataError for values that are not real numbers, too large or too close to 0.

    label: name of the values at the start of a message.
    """
    values = values if type(values) is np.ndarray else as_array(values, "the ratings")
    if np.iscomplexobj(values):
        raise DataError("Complex data not supported: ratings are real numbers. Give the real part, say.")
    if values.dtype.kind in "mM":
        raise DataError(f"{label} are dates or durations ({values.dtype}), not numbers. Convert them first.")
    try:
        with np.errstate(over="ignore"):
            narrow = values.astype(dtype, copy=False)
    except (TypeError, ValueError) as error:
        raise DataError(f"{label} are not numbers ({error}).") from error
    if narrow is values:
        return narrow
    edge = np.isinf(narrow) | (narrow == 0)
    wide = values[edge].astype(np.float64)
    lost = wide[np.isfinite(wide) & (wide != 0)]
    if len(lost):
        how = TOO_SMALL if abs(lost[0]) < 1 else "larger than float32 holds"
        raise DataError(f"The rating {lost[0]:g} is {how}. Scale the ratings.")
    return narrow


def _times_of(column, lenient):
    """Return the times (n,) int64 of a pandas Series.

    lenient: invalid times are MISSING, for any content of the column.
    """
    return as_seconds(column.to_numpy() if lenient else whole_column(column, "time"), "The DataFrame", lenient)


def merge_repeats(ratings, X, rule="last", timed=True, stacklevel=2):
    """Merge repeated pairs of X's Ratings, with a warning.

    Counts of clicks are summed without a warning. timed: merge only if there are times. Times of a DataFrame are used
    for this and then removed.
    """
    if type(ratings) is not Ratings or (timed and ratings.times is None):
        return ratings
    result = without_repeats(ratings, rule)
    if result.merged > ratings.merged and not are_clicks(ratings):
        warnings.warn(f"{merged_line(result, rule)}.", stacklevel=stacklevel + 1)
    return result if isinstance(X, Ratings) else without_times(result)


def replace_weights(ratings, given, X, y):
    """Return Ratings with sample weights in place of their own.

    given (n,): a number a rating; of a matrix X (M,), a number a user. Pandas' weights are matched with X by their
    labels. Raises DataError for values that are not weights.
    """
    is_matrix = _is_matrix(X, y)
    rows = X[0] if _is_columns(X) else X
    rows = y if labels(rows) is None and not is_matrix else rows
    weights = as_numbers("sample_weight", align_rows(X=rows, sample_weight=given)[1])
    count, what = (ratings.shape[0], "row of the matrix") if is_matrix else (len(ratings), "rating")
    if weights.shape != (count,):
        raise DataError(f"sample_weight must hold a number a {what}, {count:,}; its shape is {weights.shape}.")
    most = np.finfo(np.float32).max
    wrong = np.flatnonzero(~((weights >= 0) & (weights <= most)) | rounds_to_zero(weights))
    if len(wrong):
        why = f"weights are from 0 to {most:.3g}, and above 0 not {TOO_SMALL}"
        raise DataError(f"sample_weight[{wrong[0]}] is {weights[wrong[0]]}; {why}.")
    weights = weights.astype(np.float32)
    if is_matrix:
        weights = weights[ratings.users]
    return ratings.with_columns(**{**ratings.columns(), "weights": weights})


def _is_matrix(X, y):
    """Return True if X, with y as in fit, is users x items."""
    frame = as_frame(X)
    is_table = isinstance(X, (Ratings, tuple)) or _is_columns(X) or is_frame(frame)
    return not (is_table or (y is not None and _is_pairs(frame)))


def normalize_weights(ratings):
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
